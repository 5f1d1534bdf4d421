import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { CodeBuilder, Label, Protection } from './code-builder.ts';
import type { Finalizer } from './finalizer.ts';

interface JumpTarget {
  readonly labels: readonly string[];
  readonly end?: Label | undefined;
  /** For loops only. */
  readonly next?: Label | undefined;
  /** Closes an iterator on every exit except its exhaustion. */
  readonly close?: Close | undefined;
  /** The `finally` block of a `try`, which every exit runs. */
  readonly finalizer?: Finalizer | undefined;
  /** The exception handler around the statement. */
  readonly protection: Protection | undefined;
  /** A labelled block can only be left by its label. */
  readonly anonymous: boolean;
}

type Close = (span: Span) => void;

/** Own fields, since a page may define one of these names on `Object.prototype`. */
const noExits = { end: undefined, next: undefined, close: undefined, finalizer: undefined };

/** The enclosing statements that `break`, `continue` and `return` leave. */
export class JumpTargets {
  private readonly stack: JumpTarget[] = [];
  private pendingLabels: string[] = [];

  constructor(
    private readonly code: CodeBuilder,
    /** Emits the return instruction. */
    readonly leaveFunction: (value: Reg, span: Span) => void,
  ) {}

  /** Adds a label to the next loop or switch. */
  addLabel(name: string): void {
    this.pendingLabels.push(name);
  }

  within(target: { end: Label; next?: Label; close?: Close }, body: () => void): void {
    this.push({ ...target, labels: this.takeLabels(), anonymous: false }, body);
  }

  withinBlock(end: Label, body: () => void): void {
    this.push({ end, labels: this.takeLabels(), anonymous: true }, body);
  }

  /** Lowers a part of an expression that keeps an iterator open, in which a generator may receive a `return`. */
  withinIterator(close: Close, body: () => void): void {
    this.push({ close, labels: [], anonymous: true }, body);
  }

  /**
   * Lowers statements whose exceptions go to `handler`, with the exception in `error`. Exits from them are outside
   * of its protection.
   */
  withinTry(handler: Label, error: Reg, finalizer: Finalizer | undefined, body: () => void): void {
    const target = finalizer ? { finalizer } : {};
    this.push({ ...target, labels: [], anonymous: true }, () =>
      this.code.within({ handler, error }, body),
    );
  }

  private push(target: Omit<JumpTarget, 'protection'>, body: () => void): void {
    this.stack.push({ ...noExits, ...target, protection: this.code.protection });
    body();
    this.stack.pop();
  }

  private takeLabels(): string[] {
    const labels = this.pendingLabels;
    this.pendingLabels = [];
    return labels;
  }

  break(label: string | undefined, span: Span): void {
    const depth = this.find(({ end, anonymous, labels }) =>
      label === undefined ? end !== undefined && !anonymous : labels.includes(label),
    );
    const { end } = this.stack[depth]!;
    invariant(end, 'what is broken out of has an end');
    this.leave(depth, end, span, () => this.code.jump(end, span));
  }

  continue(label: string | undefined, span: Span): void {
    const depth = this.find(
      (target) =>
        target.next !== undefined && (label === undefined || target.labels.includes(label)),
    );
    const { next } = this.stack[depth]!;
    invariant(next, 'what is continued has a next round');
    this.leave(depth + 1, next, span, () => this.code.jump(next, span));
  }

  /** Returns from the function. Iterators are closed and `finally` blocks run from the inside out. */
  return(value: Reg, span: Span): void {
    this.leave(0, { returns: value }, span, (src) => this.leaveFunction(src, span));
  }

  private find(matches: (target: JumpTarget) => boolean): number {
    const depth = this.stack.findLastIndex(matches);
    invariant(depth >= 0, 'the parser checked that the target exists');
    return depth;
  }

  /** Leaves the statements from the innermost down to index `depth`, then jumps or returns by `go`. */
  private leave(depth: number, exit: Exit, span: Span, go: (value: Reg) => void): void {
    const outward = (from: number, value: Reg | undefined): void => {
      for (let i = from - 1; i >= depth; i--) {
        const { close, finalizer, protection } = this.stack[i]!;
        if (finalizer) {
          const key = 'returns' in exit ? 'return' : exit;
          finalizer.passThrough(key, value, span, (kept) =>
            outward(i, value === undefined ? undefined : kept),
          );
          return;
        }
        // Exceptions of the iterator are handled by the code around the loop.
        if (close) this.code.within(protection, () => close(span));
      }
      go(value as Reg);
    };
    outward(this.stack.length, 'returns' in exit ? exit.returns : undefined);
  }
}

/** The target of an exit: a label, or the function's return with a value. */
type Exit = Label | { readonly returns: Reg };
