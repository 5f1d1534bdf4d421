/** What a machine returns at an `await`: the frame stands at it, with its registers in place. */
export class Suspended {
  constructor(readonly value: unknown) {}
}
