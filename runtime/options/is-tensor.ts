/** Whether the value is a tensor, possibly traced. Judged by its members, to avoid loading the tensor module. */
export const isTensor = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && 'holderFor' in given;
