/**
 * Whether the engine joins pairs of adjacent vectors of 128 bits into one of 256, which `init('cpu', { revectorize:
 * true })` asks it to: then tiles of a product have twice as many columns, and loops over elements compute two vectors in
 each iteration (`pairedLoops` counts the loops that were written so).
 */
export const wideVectors = { areUsed: false, pairedLoops: 0 };
