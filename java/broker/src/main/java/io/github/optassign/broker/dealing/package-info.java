/** The distribution of copies to the threads of processes, and the check of the result. */
package io.github.optassign.broker.dealing;
