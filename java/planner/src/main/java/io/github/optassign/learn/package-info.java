/** The knowledge that the last answer passes on: the previous assignment and the measured restore rates. */
package io.github.optassign.learn;
