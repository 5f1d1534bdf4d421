/** The result of a machine at an `await`: the frame is suspended there, with its registers in place. */
export class Suspended {
  readonly #isOne = true;

  constructor(readonly value: unknown) {}

  /** Doesn't use `instanceof`, which would run the `getPrototypeOf` trap of a Proxy that the user's code returns. */
  static is(result: unknown): result is Suspended {
    return typeof result === 'object' && result !== null && #isOne in result;
  }
}
