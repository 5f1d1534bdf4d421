import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { TapeCall } from './tape.ts';

/** A program under construction, as a region in it finds its values. */
export interface Surroundings {
  readonly builder: ProgramBuilder;
  /** What was asked of the tensor API for this program. */
  readonly tape: TapeCall[];
  /** The value of this program that stands for a tensor of a program further out, or one with data. */
  capture(tensor: Tensor): Tensor;
}
