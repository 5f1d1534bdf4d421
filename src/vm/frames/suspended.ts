/** The result of a machine at an `await` or `yield`: the frame is suspended there, with its registers in place. */
export class Suspended {
  readonly #isOne = true;

  constructor(readonly value: unknown) {}

  /** Avoids `instanceof`, which would run the `getPrototypeOf` trap of a Proxy that user code returns. */
  static is(result: unknown): result is Suspended {
    return typeof result === 'object' && result !== null && #isOne in result;
  }
}
