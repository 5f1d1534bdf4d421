/** What a kernel's function reads of `this`. */
export interface KernelThis<Constants extends object = Readonly<Record<string, number>>> {
  /** The element to compute: `x` counts along the last dimension, `y` and `z` along those before it. */
  readonly thread: { readonly x: number; readonly y: number; readonly z: number };
  readonly constants: Constants;
  /** The result's sizes, in the order of `thread`. */
  readonly output: { readonly x: number; readonly y: number; readonly z: number };
}

/** How the text of a kernel names what it reads, in the language of a device. */
export interface KernelNames {
  readonly thread: Readonly<Record<'x' | 'y' | 'z', string>>;
  readonly output: Readonly<Record<'x' | 'y' | 'z', string>>;
  /** The element of operand number `operand` at these indices, the outermost first. */
  readonly read: (operand: number, indices: readonly string[]) => string;
}

export interface KernelLines {
  /** Statements before the last `return`. */
  readonly lines: readonly string[];
  readonly result: string;
}

/** A function of the user's that computes one element of a tensor from any elements of others. */
export interface UserKernel {
  readonly name: string;
  readonly constants: Readonly<Record<string, number>>;
  /** What a CPU calls for each element. */
  readonly element: (this: KernelThis, ...operands: never[]) => number;
  readonly parameters: readonly string[];
  /** Per operand: the dimensions that it must have; null: it isn't read. */
  readonly ranks: readonly (number | null)[];
  /** What a GPU's compiler is given. */
  readonly text: (names: KernelNames) => KernelLines;
}
