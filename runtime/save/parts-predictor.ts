/** The count of the bytes of programs, for pages that load it with the first one that needs it. */

export { predictedBytes } from '../run-program/simulate/predicted-bytes.ts';
