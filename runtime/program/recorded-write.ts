import { AutogradError } from '../errors/errors.ts';

/** Thrown for a recorded in-place write that a program can't represent; the tracer breaks the graph. */
export class RecordedWriteInPlace extends AutogradError {
  readonly op: string;
  constructor(op: string) {
    super({
      what: `${op}: a write in place through which gradients flow, inside a captured function`,
      given: `${op} while a program is being built and gradients are recorded`,
      expected: 'no operand that requires a gradient, or gradients switched off',
      remedy: 'use the form without underscore, or leave it to the graph break',
    });
    this.op = op;
  }
}
