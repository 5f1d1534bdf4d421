/** Predicts the bytes of programs; pages load it with the first program that needs it. */

export { predictedBytes } from '../run-program/simulate/predicted-bytes.ts';
