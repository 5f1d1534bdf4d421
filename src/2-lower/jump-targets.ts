import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg, Span } from '../bytecode/instructions.ts';
import type { CodeBuilder, Label } from './code-builder.ts';

interface JumpTarget {
  readonly labels: readonly string[];
  readonly end: Label;
  /** Loops only. */
  readonly next?: Label;
  /** A for-of's iterator, closed by every way out that isn't its own end. */
  readonly iterator?: Reg;
  /** A labelled block is left only by its name. */
  readonly anonymous: boolean;
}

/** The statements around the current one that `break`, `continue` and `return` leave. */
export class JumpTargets {
  private readonly stack: JumpTarget[] = [];
  private pendingLabels: string[] = [];

  constructor(private readonly code: CodeBuilder) {}

  /** The next loop or switch is known by this name as well. */
  addLabel(name: string): void {
    this.pendingLabels.push(name);
  }

  within(target: { end: Label; next?: Label; iterator?: Reg }, body: () => void): void {
    this.push({ ...target, labels: this.takeLabels(), anonymous: false }, body);
  }

  withinBlock(end: Label, body: () => void): void {
    this.push({ end, labels: this.takeLabels(), anonymous: true }, body);
  }

  private push(target: JumpTarget, body: () => void): void {
    this.stack.push(target);
    body();
    this.stack.pop();
  }

  private takeLabels(): string[] {
    const labels = this.pendingLabels;
    this.pendingLabels = [];
    return labels;
  }

  break(label: string | undefined, span: Span): void {
    const depth = this.find((target) =>
      label === undefined ? !target.anonymous : target.labels.includes(label),
    );
    this.close(depth, span);
    this.code.jump(this.stack[depth]!.end, span);
  }

  continue(label: string | undefined, span: Span): void {
    const depth = this.find(
      (target) =>
        target.next !== undefined && (label === undefined || target.labels.includes(label)),
    );
    this.close(depth + 1, span);
    this.code.jump(this.stack[depth]!.next!, span);
  }

  /** Before a return: all iterators, the innermost first. */
  closeAll(span: Span): void {
    this.close(0, span);
  }

  private find(matches: (target: JumpTarget) => boolean): number {
    const depth = this.stack.findLastIndex(matches);
    invariant(depth >= 0, 'the parser checked that the target exists');
    return depth;
  }

  private close(depth: number, span: Span): void {
    for (let i = this.stack.length - 1; i >= depth; i--) {
      const { iterator } = this.stack[i]!;
      if (iterator !== undefined) this.code.emit({ op: 'iteratorClose', iterator }, span);
    }
  }
}
