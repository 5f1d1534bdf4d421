import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { CodeBuilder, Label } from './code-builder.ts';

/** A path through a `finally` block. A register contains its number until the block has finished. */
interface Completion {
  readonly number: number;
  readonly span: Span;
  /** Continues outside the try statement. `value`: the register of the saved completion value. */
  readonly continueWith: (value: Reg) => void;
}

/** Completion numbers for the end of the try block, and for an exception. */
const normal = 0;
const thrown = 1;

/**
 * A `finally` block. Its code is emitted once: every path into it stores a number in a register, and the number selects
 * the path after the block. The state of a pending `return` or exception is thus in registers, like all other state.
 */
export class Finalizer {
  /** The value that is returned or thrown, in the statement's lowest temporary. */
  readonly value: Reg;
  /** The number of the pending completion. */
  private readonly completion: Reg;
  private readonly start: Label;
  private readonly completions = new Map<Label | 'return', Completion>();

  constructor(
    private readonly code: CodeBuilder,
    span: Span,
  ) {
    this.value = code.temp();
    this.completion = code.temp();
    this.start = code.label();
    code.emit({ op: 'const', dst: this.value, value: undefined }, span);
  }

  /** Leaves the statement by `break`, `continue` or `return`: runs the block, then `continueWith`. */
  passThrough(
    key: Label | 'return',
    value: Reg | undefined,
    span: Span,
    continueWith: (value: Reg) => void,
  ): void {
    if (!this.code.isReachable) return;
    let completion = this.completions.get(key);
    if (!completion) {
      completion = { number: this.completions.size + thrown + 1, span, continueWith };
      this.completions.set(key, completion);
    }
    if (value !== undefined) this.code.emit({ op: 'move', dst: this.value, src: value }, span);
    this.enter(completion.number, span);
  }

  /** Emits the block after the code that it protects. `onThrow`: the target of exceptions. */
  lower(onThrow: Label, block: Span, body: () => void): void {
    const end = { start: block.end, end: block.end };
    this.enter(normal, { start: block.start, end: block.start });
    this.code.bind(onThrow);
    this.code.emit({ op: 'const', dst: this.completion, value: thrown }, end);
    this.code.bind(this.start);
    body();
    if (onThrow.used) {
      this.when(thrown, end, () => this.code.emit({ op: 'throw', src: this.value }, end));
    }
    for (const { number, span, continueWith } of this.completions.values()) {
      this.when(number, span, () => continueWith(this.value));
    }
  }

  /** Within the block: runs `then` if an exception is pending, with its register. */
  whenThrown(span: Span, then: (error: Reg) => void): void {
    this.when(thrown, span, () => then(this.value));
  }

  private enter(completion: number, span: Span): void {
    this.code.emit({ op: 'const', dst: this.completion, value: completion }, span);
    this.code.jump(this.start, span);
  }

  private when(number: number, span: Span, then: () => void): void {
    const { code } = this;
    const mark = code.mark();
    const otherwise = code.label();
    const right = code.temp();
    code.emit({ op: 'const', dst: right, value: number }, span);
    const left = this.completion;
    code.emit({ op: 'binary', dst: right, operator: '===', left, right }, span);
    code.jumpOn('jumpIfNot', right, otherwise, span);
    code.release(mark);
    then();
    code.bind(otherwise);
  }
}
