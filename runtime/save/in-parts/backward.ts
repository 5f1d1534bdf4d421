/** Runs backward programs. Pages load this module with the first program that has one. */

export { runBackward } from '../../run-program/run-backward.ts';
