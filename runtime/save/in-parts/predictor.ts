/** Predicts the bytes of programs. Pages load this module with the first program that needs it. */

export { predictedBytes } from '../../run-program/simulate/predicted-bytes.ts';
