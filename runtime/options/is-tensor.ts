/** Whether the value is a tensor, possibly traced. Judged by its members, to avoid loading the tensor module. */
export const isTensor = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'holderFor' in value;
