/** Every operator of PyTorch that is offered: its name and arguments → our call. */

import { activationAdapters } from './adapters-activations.ts';
import { arrangingAdapters } from './adapters-arranging.ts';
import { indexingAdapters } from './adapters-indexing.ts';
import { layerAdapters } from './adapters-layers.ts';
import { lossAdapters } from './adapters-losses.ts';
import { matrixAdapters } from './adapters-matrices.ts';
import { pointwiseAdapters } from './adapters-pointwise.ts';
import { productAdapters } from './adapters-products.ts';
import { reductionAdapters } from './adapters-reductions.ts';
import type { Adapters } from './arguments.ts';

export const adapters: Adapters = {
  ...pointwiseAdapters,
  ...reductionAdapters,
  ...arrangingAdapters,
  ...indexingAdapters,
  ...productAdapters,
  ...matrixAdapters,
  ...activationAdapters,
  ...lossAdapters,
  ...layerAdapters,
};
