import { formatPosition, type UserPosition, userPosition } from './position.ts';

/** The facts that every error of this package states. */
export interface ErrorFacts {
  /** The mistake, in one sentence without a full stop. */
  readonly what: string;
  readonly given: string;
  readonly expected: string;
  readonly remedy: string;
  /** Where in the user's files; found from the call stack by default. */
  readonly at?: UserPosition | undefined;
  readonly cause?: unknown;
}

/**
 * A mistake that the user can mend. The message holds what was given, what was expected, the user's
 * file:line:column and what to do; the same facts are properties.
 */
export class TostaticError extends Error {
  override readonly name: string = 'TostaticError';
  readonly given: string;
  readonly expected: string;
  readonly remedy: string;
  readonly at: UserPosition | undefined;
  /** Path of the layer of an `nn.Sequential` that threw, such as `2` or `0.2`; undefined outside of one. */
  layer: string | undefined;

  constructor(facts: ErrorFacts) {
    const at = facts.at ?? userPosition();
    super(
      [
        facts.what,
        `  given:    ${facts.given}`,
        `  expected: ${facts.expected}`,
        ...(at ? [`  at:       ${formatPosition(at)}`] : []),
        `  remedy:   ${facts.remedy}`,
      ].join('\n'),
      facts.cause === undefined ? undefined : { cause: facts.cause },
    );
    this.given = facts.given;
    this.expected = facts.expected;
    this.remedy = facts.remedy;
    this.at = at;
  }

  /** Says in the message which layer threw. Modules around it call this in turn, each with its own name of the one inside. */
  addLayer(name: string, description: string): void {
    const before = this.layer;
    this.layer = before === undefined ? name : `${name}.${before}`;
    const { message } = this;
    const lines = message.split('\n');
    const label = '  layer:    ';
    if (before === undefined) lines.splice(1, 0, `${label}${name} (${description})`);
    else lines[1] = `${label}${name}.${lines[1]!.slice(label.length)}`;
    this.message = lines.join('\n');
    // Engines wrote the message into the stack, which is what they print.
    if (this.stack) this.stack = this.stack.replace(message, () => this.message);
  }
}

/** Shapes that don't fit the operation. */
export class ShapeError extends TostaticError {
  override readonly name = 'ShapeError';
}
/** A dtype that the operation can't take. */
export class DTypeError extends TostaticError {
  override readonly name = 'DTypeError';
}
/** A device that is missing, mixed or can't do what was asked. */
export class DeviceError extends TostaticError {
  override readonly name = 'DeviceError';
}
/** A tensor was used after its memory was freed. */
export class DisposedError extends TostaticError {
  override readonly name = 'DisposedError';
}
/** Gradients that can't be had: backward twice, a changed saved value, no graph. */
export class AutogradError extends TostaticError {
  override readonly name = 'AutogradError';
}
/** The device has no more memory. */
export class OutOfMemoryError extends TostaticError {
  override readonly name = 'OutOfMemoryError';
}
/** A missing, truncated or foreign file. */
export class DataError extends TostaticError {
  override readonly name = 'DataError';
}
/** An argument outside its range that is none of the above. */
export class ArgumentError extends TostaticError {
  override readonly name = 'ArgumentError';
}
/** Check mode: a compiled program computed something else than its traced program. */
export class CheckError extends TostaticError {
  override readonly name = 'CheckError';
  /** The pass or memory switch that makes the difference; null when no single one does. */
  readonly culprit: string | null;
  /** The first value that differs: its op, and the user's line; null when it was not found. */
  readonly value: { readonly op: string; readonly at: UserPosition | undefined } | null;

  constructor(facts: ErrorFacts & Pick<CheckError, 'culprit' | 'value'>) {
    super(facts);
    this.culprit = facts.culprit;
    this.value = facts.value;
  }
}
/** A function that can't be captured, under `fallback: 'error'`. */
export class CaptureError extends TostaticError {
  override readonly name: string = 'CaptureError';
}
