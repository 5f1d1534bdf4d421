import { type Code, i32, op, unsigned } from './code.ts';
import { specialOpcodes, type ValueType, valueTypes } from './instructions.ts';

/** A parameter or local variable. */
export interface Local {
  readonly index: number;
  readonly type: ValueType;
}

/** A tuple of `N` variables if the count is a literal, for destructuring. */
export type Locals<N extends number> = number extends N ? Local[] : Tuple<N, []>;

type Tuple<N extends number, T extends Local[]> = T['length'] extends N
  ? T
  : Tuple<N, [...T, Local]>;

const emptyBlock = 0x40;

export function get(local: Local): Code {
  return [specialOpcodes['local.get'], ...unsigned(local.index)];
}

/** The minimum of a local and a constant, as signed numbers. */
export const smaller = (x: Local, limit: number): Code =>
  op('select', get(x), i32(limit), op('i32.lt_s', get(x), i32(limit)));

/** Writes one function: locals, statements and structured control flow; no instruction needs a label. */
export class FunctionBuilder {
  readonly paramTypes: ValueType[] = [];
  /** The JavaScript functions that its code calls, by import name. */
  readonly imports = new Set<string>();
  readonly #locals: ValueType[] = [];
  readonly #code: number[] = [];
  readonly #prologue: number[] = [];
  readonly #constants = new Map<string, Local>();

  /** Declares a parameter; all parameters precede the locals. */
  param(type: ValueType = 'i32'): Local {
    this.paramTypes.push(type);
    return { index: this.paramTypes.length - 1, type };
  }

  params<N extends number>(count: N, type?: ValueType): Locals<N> {
    return Array.from({ length: count }, () => this.param(type)) as Locals<N>;
  }

  local(type: ValueType, value?: Code): Local {
    this.#locals.push(type);
    const local = { index: this.paramTypes.length + this.#locals.length - 1, type };
    if (value) this.set(local, value);
    return local;
  }

  locals<N extends number>(type: ValueType, count: N): Locals<N> {
    return Array.from({ length: count }, () => this.local(type)) as Locals<N>;
  }

  /**
   * Returns a local with a vector constant, set when the function starts: otherwise V8 rebuilds it at every use,
   * in every iteration of a loop.
   */
  constant(value: Code): Code {
    const key = value.join();
    let local = this.#constants.get(key);
    if (!local) {
      local = this.local('v128');
      this.#constants.set(key, local);
      this.#prologue.push(...value, specialOpcodes['local.set'], ...unsigned(local.index));
    }
    return get(local);
  }

  emit(code: Code): void {
    for (const byte of code) this.#code.push(byte);
  }

  set(local: Local, value: Code): void {
    this.emit(value);
    this.emit([specialOpcodes['local.set'], ...unsigned(local.index)]);
  }

  /** local += amount */
  add(local: Local, amount: Code | number): void {
    const code = typeof amount === 'number' ? i32(amount) : amount;
    this.set(local, op('i32.add', get(local), code));
  }

  if(condition: Code, then: () => void, otherwise?: () => void): void {
    this.emit(condition);
    this.emit([specialOpcodes.if, emptyBlock]);
    then();
    if (otherwise) {
      this.emit([specialOpcodes.else]);
      otherwise();
    }
    this.emit([specialOpcodes.end]);
  }

  while(condition: Code, body: () => void): void {
    this.if(condition, () => {
      this.emit([specialOpcodes.loop, emptyBlock]);
      body();
      this.emit([...condition, specialOpcodes.br_if, 0, specialOpcodes.end]);
    });
  }

  /** While at least `step` are left: runs `body`, then subtracts `step` from `left`. */
  countDown(left: Local, step: number, body: () => void): void {
    this.while(op('i32.ge_u', get(left), i32(step)), () => {
      body();
      this.add(left, -step);
    });
  }

  /** Returns the function's code section entry, without its length. */
  body(): number[] {
    const runs = this.#locals.flatMap((type) => [1, valueTypes[type]]);
    return [
      ...unsigned(this.#locals.length),
      ...runs,
      ...this.#prologue,
      ...this.#code,
      specialOpcodes.end,
    ];
  }
}
