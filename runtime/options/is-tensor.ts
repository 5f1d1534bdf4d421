/** Any tensor, also one of a trace. By its form: nothing of tensors is loaded for it. */
export const isTensor = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && 'holderFor' in given;
