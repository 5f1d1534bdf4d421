/** Long short-term memory that learns to continue a text, character by character. */

import { breakGraph, crossEntropy, nn, optim, type Tensor } from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { defineWorkload } from './define-workload.ts';
import { loadText, textBatch } from './text.ts';

export interface LstmSize {
  readonly characters: number;
  readonly width: number;
  readonly layers: number;
  readonly breaks?: boolean;
}

export class CharLstm extends nn.Module {
  characters: nn.Embedding;
  lstm: nn.LSTM;
  last: nn.Linear;

  readonly breaks: boolean;

  constructor({ characters, width, layers, breaks = false }: LstmSize) {
    super();
    this.breaks = breaks;
    this.characters = new nn.Embedding(characters, width);
    this.lstm = new nn.LSTM(width, width, { numLayers: layers, batchFirst: true });
    this.last = new nn.Linear(width, characters);
  }

  /** int32 [n, length] → scores [n, length, characters] */
  override forward(text: Tensor): Tensor {
    const vectors = this.characters.forward(text);
    if (this.breaks) breakGraph();
    const [outputs] = this.lstm.forward(vectors);
    if (this.breaks) breakGraph();
    return this.last.forward(outputs);
  }
}

const sizes = {
  full: { length: 128, width: 512, layers: 2 },
  reduced: { length: 16, width: 32, layers: 2 },
} as const;

const batchOf = ({ batch, size }: WorkloadOptions) => batch ?? (size === 'full' ? 64 : 8);

/** Run by `tostatic compare`. */
export const workload = defineWorkload<CharLstm>({
  model: ({ size, breaks }) => {
    const { width, layers } = sizes[size];
    return new CharLstm({ characters: loadText().alphabet.length, width, layers, breaks });
  },
  optimizer: (model) => new optim.RMSprop(model.parameters(), { lr: 3e-3 }),
  loss: (model, text, next) => crossEntropy(model.forward(text!).flatten(0, 1), next!.flatten()),
  inputs: (i, options) => textBatch(i, batchOf(options), sizes[options.size].length),
});
