import io.github.optassign.flow.MinCostFlow;
import java.util.Scanner;

/**
 * Prints the costs of a minimum-cost flow of each network on both levels, or "none" if no flow is feasible. Input:
 * number of networks; per network the number of nodes and of arcs, the supply of each node, and per arc its tail, head,
 * lower bound, upper bound, the level of its cost and its cost.
 */
final class FlowCosts {
    private FlowCosts() {}

    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        for (int networks = input.nextInt(); networks > 0; networks--) {
            MinCostFlow flow = new MinCostFlow();
            long[] spare = new long[input.nextInt()];
            long[][] arcs = new long[input.nextInt()][6];
            for (int node = 0; node < spare.length; node++) {
                spare[node] = input.nextLong();
                flow.addNode(spare[node]);
            }
            for (long[] arc : arcs) {
                for (int i = 0; i < arc.length; i++) {
                    arc[i] = input.nextLong();
                }
                flow.addArc((int) arc[0], (int) arc[1], arc[2], arc[3], (int) arc[4], arc[5]);
            }
            System.out.println(flow.solve(Long.MAX_VALUE) ? sumCosts(flow, arcs, spare) : "none");
        }
    }

    private static String sumCosts(MinCostFlow flow, long[][] arcs, long[] spare) {
        long[] costs = new long[2];
        for (int i = 0; i < arcs.length; i++) {
            long units = flow.flow(i);
            if (units < arcs[i][2] || units > arcs[i][3]) {
                throw new IllegalStateException("arc " + i + " has " + units + " units, out of its bounds");
            }
            costs[(int) arcs[i][4]] += units * arcs[i][5];
            spare[(int) arcs[i][0]] -= units;
            spare[(int) arcs[i][1]] += units;
        }
        for (int node = 0; node < spare.length; node++) {
            if (spare[node] != 0) {
                throw new IllegalStateException("node " + node + " keeps " + spare[node] + " units");
            }
        }
        return costs[0] + " " + costs[1];
    }
}
