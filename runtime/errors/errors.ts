import { formatPosition, type UserPosition, userPosition } from './position.ts';

/** The facts that every error of this package contains. */
export interface ErrorFacts {
  /** The mistake, in one sentence without a period. */
  readonly what: string;
  readonly given: string;
  readonly expected: string;
  readonly remedy: string;
  /** The position in the user's files; taken from the call stack by default. */
  readonly at?: UserPosition | undefined;
  readonly cause?: unknown;
}

/**
 * An error that the user can fix. The message contains what was given, what was expected, the user's
 * file:line:column and a hint; the same facts are properties.
 */
export class TostaticError extends Error {
  override readonly name: string = 'TostaticError';
  declare readonly given: string;
  declare readonly expected: string;
  declare readonly remedy: string;
  declare readonly at: UserPosition | undefined;
  /** The path of the `nn.Sequential` layer that threw, such as `2` or `0.2`; undefined outside of one. */
  declare layer: string | undefined;

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
    // Not enumerable: Node prints enumerable properties below the message, which has these facts already.
    const { given, expected, remedy } = facts;
    for (const [key, value] of Object.entries({ given, expected, remedy, at, layer: undefined }))
      Object.defineProperty(this, key, { value, writable: true, configurable: true });
  }

  /** Adds the layer that threw to the message; each enclosing module prepends its own name. */
  addLayer(name: string, description: string): void {
    const before = this.layer;
    this.layer = before === undefined ? name : `${name}.${before}`;
    const lines = this.message.split('\n');
    const label = '  layer:    ';
    if (before === undefined) lines.splice(1, 0, `${label}${name} (${description})`);
    else lines[1] = `${label}${name}.${lines[1]!.slice(label.length)}`;
    this.#replace(lines.join('\n'));
  }

  /** Replaces the op named first in the message with the function that the user called. */
  rename(name: string): void {
    this.#replace(this.message.replace(/^\w+(?=: )/, () => name));
  }

  #replace(message: string): void {
    // Engines copy the message into the stack, and print the stack.
    if (this.stack) this.stack = this.stack.replace(this.message, () => message);
    this.message = message;
  }
}

/** Shapes don't fit the operation. */
export class ShapeError extends TostaticError {
  override readonly name = 'ShapeError';
}
/** The operation doesn't support a dtype. */
export class DTypeError extends TostaticError {
  override readonly name = 'DTypeError';
}
/** A device is missing, mixed with others, or can't perform a request. */
export class DeviceError extends TostaticError {
  override readonly name = 'DeviceError';
}
/** A tensor was used after its memory was freed. */
export class DisposedError extends TostaticError {
  override readonly name = 'DisposedError';
}
/** A gradient is unavailable: backward ran twice, a saved value changed, or there is no graph. */
export class AutogradError extends TostaticError {
  override readonly name = 'AutogradError';
}
/** The device is out of memory. */
export class OutOfMemoryError extends TostaticError {
  override readonly name = 'OutOfMemoryError';
}
/** A file is missing, truncated or of another format. */
export class DataError extends TostaticError {
  override readonly name = 'DataError';
}
/** An invalid argument that no other class covers. */
export class ArgumentError extends TostaticError {
  override readonly name = 'ArgumentError';
}
/** Check mode: a compiled program's results differ from its traced program's. */
export class CheckError extends TostaticError {
  override readonly name = 'CheckError';
  /** The pass or memory option that causes the difference; null if no single one does. */
  readonly culprit: string | null;
  /** The first value that differs: its op and the user's line; null if it was not found. */
  readonly value: { readonly op: string; readonly at: UserPosition | undefined } | null;

  constructor(facts: ErrorFacts & Pick<CheckError, 'culprit' | 'value'>) {
    super(facts);
    this.culprit = facts.culprit;
    this.value = facts.value;
  }
}
/** A function can't be captured, under `fallback: 'error'`. */
export class CaptureError extends TostaticError {
  override readonly name: string = 'CaptureError';
}
