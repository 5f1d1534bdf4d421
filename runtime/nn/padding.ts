/** Padding of the last dimensions; amounts in PyTorch's order: [left, right, top, bottom, front, back]. */

import { type PadMode, pad } from '../ops/arranging/padding.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** One amount for every side, or one per side. */
export type PadAmounts = number | readonly number[];

abstract class Pad extends Module {
  readonly padding: readonly number[];
  readonly mode: PadMode;
  readonly value: number;

  constructor(dims: number, padding: PadAmounts, mode: PadMode, value: number, ...surplus: []) {
    super(...surplus);
    this.padding = typeof padding === 'number' ? Array(2 * dims).fill(padding) : padding;
    this.mode = mode;
    this.value = value;
  }

  override forward(input: Tensor): Tensor {
    return pad(input, this.padding, this.mode, this.value);
  }
}

/** Pads the last dimension with `value`. */
export class ConstantPad1d extends Pad {
  constructor(padding: PadAmounts, value: number, ...surplus: []) {
    super(1, padding, 'constant', value, ...surplus);
  }
}

/** Pads the last two dimensions with `value`. */
export class ConstantPad2d extends Pad {
  constructor(padding: PadAmounts, value: number, ...surplus: []) {
    super(2, padding, 'constant', value, ...surplus);
  }
}

/** Pads the last three dimensions with `value`. */
export class ConstantPad3d extends Pad {
  constructor(padding: PadAmounts, value: number, ...surplus: []) {
    super(3, padding, 'constant', value, ...surplus);
  }
}

/** Pads the last dimension with zeros. */
export class ZeroPad1d extends ConstantPad1d {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(padding, 0, ...surplus);
  }
}

/** Pads the last two dimensions with zeros. */
export class ZeroPad2d extends ConstantPad2d {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(padding, 0, ...surplus);
  }
}

/** Pads the last three dimensions with zeros. */
export class ZeroPad3d extends ConstantPad3d {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(padding, 0, ...surplus);
  }
}

/** Reflects at the outermost elements. */
export class ReflectionPad1d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(1, padding, 'reflect', 0, ...surplus);
  }
}

/** Reflects the last two dimensions at their outermost elements. */
export class ReflectionPad2d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(2, padding, 'reflect', 0, ...surplus);
  }
}

/** Reflects the last three dimensions at their outermost elements. */
export class ReflectionPad3d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(3, padding, 'reflect', 0, ...surplus);
  }
}

/** Repeats the outermost elements. */
export class ReplicationPad1d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(1, padding, 'replicate', 0, ...surplus);
  }
}

/** Repeats the outermost elements of the last two dimensions. */
export class ReplicationPad2d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(2, padding, 'replicate', 0, ...surplus);
  }
}

/** Repeats the outermost elements of the last three dimensions. */
export class ReplicationPad3d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(3, padding, 'replicate', 0, ...surplus);
  }
}

/** Wraps around: pads with elements from the opposite end. */
export class CircularPad1d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(1, padding, 'circular', 0, ...surplus);
  }
}

/** Continues the last two dimensions with the elements of their other ends. */
export class CircularPad2d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(2, padding, 'circular', 0, ...surplus);
  }
}

/** Continues the last three dimensions with the elements of their other ends. */
export class CircularPad3d extends Pad {
  constructor(padding: PadAmounts, ...surplus: []) {
    super(3, padding, 'circular', 0, ...surplus);
  }
}
