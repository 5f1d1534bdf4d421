/** The result of a machine at an `await`: the frame stands at it, with its registers in place. */
export class Suspended {
  readonly #isOne = true;

  constructor(readonly value: unknown) {}

  /** Not by `instanceof`, which asks a Proxy that the user's code returns for its prototype. */
  static is(result: unknown): result is Suspended {
    return typeof result === 'object' && result !== null && #isOne in result;
  }
}
