import { invariant } from '../../runtime/errors/invariant.ts';
import type { Code } from '../vm/bytecode/code.ts';
import { effectOf, effects } from '../vm/bytecode/effects.ts';
import {
  type Instruction,
  type InstructionOf,
  type Pc,
  type Primitive,
  type Reg,
  reg,
  type Span,
} from '../vm/bytecode/instructions.ts';
import type { Intrinsic } from '../vm/bytecode/intrinsics.ts';
import type { ProtectedRegion } from '../vm/bytecode/protection.ts';

/** A jump target, which is bound once to the next instruction. */
export interface Label {
  at: Pc | undefined;
  /** True if a reachable jump leads here. */
  used: boolean;
}

/** The handler of exceptions, and the register that receives the exception. */
export interface Protection {
  readonly handler: Label;
  readonly error: Reg;
}

/** The parts of a Code that lowering adds. */
type Text = Pick<
  Code,
  'registerCount' | 'registerNames' | 'instructions' | 'regions' | 'spans' | 'inner'
>;

/** A jump whose label isn't bound yet. */
interface Jump {
  readonly instruction: Extract<Instruction, { target: Pc } | { done: Pc }>;
  readonly label: Label;
}

const unbound: Pc = -1;

type JumpOp = 'jump' | 'jumpIf' | 'jumpIfNot' | 'jumpIfNullish' | 'jumpIfNotUndefined';
type ConditionalJump = Exclude<JumpOp, 'jump'>;

/** A height of the stack of temporaries. */
type Mark = number & { readonly brand: 'Mark' };

/** Builds a Code. Drops unreachable instructions, so that every instruction can run. */
export class CodeBuilder {
  readonly inner: Code[] = [];
  private readonly instructions: Instruction[] = [];
  /** Jumps whose targets are filled in once all labels are bound. */
  private readonly jumps: Jump[] = [];
  private readonly spans: Span[] = [];
  /** The exception handler of each instruction. */
  private readonly protections: (Protection | undefined)[] = [];
  private readonly names: (string | undefined)[] = [];
  private height = 0;
  private reachable = true;
  private current: Protection | undefined;

  emit(instruction: Instruction, span: Span): void {
    const { flow, throws } = effectOf(instruction);
    if (throws) this.mayThrow();
    this.append(instruction, flow === 'leave', span);
  }

  jump(target: Label, span: Span): void {
    const instruction: Instruction = { op: 'jump', target: unbound };
    this.addJump(target, instruction);
    this.append(instruction, true, span);
  }

  jumpOn(op: ConditionalJump, test: Reg, target: Label, span: Span): void {
    const instruction = { op, test, target: unbound } satisfies Instruction;
    this.addJump(target, instruction);
    this.append(instruction, false, span);
  }

  iteratorNext(dst: Reg, iterator: Reg, done: Label, span: Span): void {
    if (effects.iteratorNext.throws) this.mayThrow();
    const instruction: Instruction = { op: 'iteratorNext', dst, iterator, done: unbound };
    this.addJump(done, instruction);
    this.append(instruction, false, span);
  }

  /** `dst` receives the value that the generator is resumed with; `returned` is where its `return` continues. */
  yield(mode: InstructionOf<'yield'>['mode'], dst: Reg, src: Reg, returned: Label, span: Span) {
    this.mayThrow();
    const instruction: Instruction = { op: 'yield', dst, src, mode, target: unbound };
    this.addJump(returned, instruction);
    this.append(instruction, false, span);
  }

  intrinsic(name: Intrinsic, args: readonly Reg[], span: Span, dst = this.temp()): Reg {
    this.emit({ op: 'intrinsic', dst, name, args }, span);
    return dst;
  }

  constant(value: Primitive, span: Span, dst = this.temp()): Reg {
    this.emit({ op: 'const', dst, value }, span);
    return dst;
  }

  private addJump(label: Label, instruction: Jump['instruction']): void {
    if (!this.reachable) return;
    label.used = true;
    this.jumps.push({ instruction, label });
  }

  private append(instruction: Instruction, ends: boolean, span: Span): void {
    if (!this.reachable) return;
    this.instructions.push(instruction);
    this.spans.push(span);
    this.protections.push(this.current);
    if (ends) this.reachable = false;
  }

  private mayThrow(): void {
    if (this.reachable && this.current) this.current.handler.used = true;
  }

  /** The handler of exceptions in the next instruction. */
  get protection(): Protection | undefined {
    return this.current;
  }

  /** Sets the handler of exceptions for the instructions of `body`; undefined if they leave the function. */
  within(protection: Protection | undefined, body: () => void): void {
    const outer = this.current;
    this.current = protection;
    body();
    this.current = outer;
  }

  label(): Label {
    return { at: undefined, used: false };
  }

  bind(label: Label): void {
    invariant(label.at === undefined, 'a label is bound once');
    label.at = this.instructions.length;
    if (label.used) this.reachable = true;
  }

  get isReachable(): boolean {
    return this.reachable;
  }

  /** Allocates a register for a variable. All variables are allocated before the first temporary. */
  local(name: string): Reg {
    invariant(this.names.length === this.height, 'variables come before temporaries');
    this.names.push(name);
    this.height = this.names.length;
    return reg(this.names.length - 1);
  }

  temp(): Reg {
    const index = this.height++;
    if (index === this.names.length) this.names.push(undefined);
    return reg(index);
  }

  mark(): Mark {
    return this.height as Mark;
  }

  /** Frees the temporaries allocated since `mark`. */
  release(mark: Mark): void {
    this.height = mark;
  }

  finish(): Text {
    for (const { instruction, label } of this.jumps) {
      if (instruction.op === 'iteratorNext') instruction.done = pcOf(label);
      else instruction.target = pcOf(label);
    }
    return {
      registerCount: this.names.length,
      registerNames: this.names,
      instructions: this.instructions,
      regions: this.regions(),
      spans: this.spans,
      inner: this.inner,
    };
  }

  /** Groups adjacent instructions with the same handler. Instructions that can't throw need none. */
  private regions(): ProtectedRegion[] {
    const regions: ProtectedRegion[] = [];
    const { protections } = this;
    for (let start = 0, end = 0; start < protections.length; start = end) {
      const protection = protections[start];
      while (end < protections.length && protections[end] === protection) end++;
      if (!protection?.handler.used) continue;
      regions.push({ start, end, target: pcOf(protection.handler), error: protection.error });
    }
    return regions;
  }
}

function pcOf({ at }: Label): Pc {
  invariant(at !== undefined, 'every label that is jumped to is bound');
  return at;
}
