import java.util.HashSet;
import java.util.Scanner;
import java.util.Set;

/**
 * Prints the iteration order of java.util.HashSet for each case. Input: number of cases; per case the capacity, the
 * number of keys, their hash codes, the number of steps, and the steps: k >= 0 adds key k, k < 0 removes key -k - 1.
 */
final class HashOrders {
    private record Key(int number, int code) implements Comparable<Key> {
        @Override
        public int hashCode() {
            return code;
        }

        @Override
        public int compareTo(Key other) {
            return Integer.compare(number, other.number);
        }
    }

    private HashOrders() {}

    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        for (int cases = input.nextInt(); cases > 0; cases--) {
            Set<Key> keys = new HashSet<>(input.nextInt());
            Key[] all = new Key[input.nextInt()];
            for (int i = 0; i < all.length; i++) {
                all[i] = new Key(i, input.nextInt());
            }
            for (int steps = input.nextInt(); steps > 0; steps--) {
                int step = input.nextInt();
                if (step >= 0) {
                    keys.add(all[step]);
                } else {
                    keys.remove(all[-step - 1]);
                }
            }
            StringBuilder order = new StringBuilder();
            keys.forEach(key -> order.append(key.number()).append(' '));
            System.out.println(order);
        }
    }
}
