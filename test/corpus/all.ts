import type { CorpusFunction } from './corpus.ts';
import { algorithms } from './functions/algorithms.ts';
import { classes } from './functions/classes.ts';
import { decisions } from './functions/decisions.ts';
import { gradients } from './functions/gradients.ts';
import { sequences } from './functions/sequences.ts';
import { structures } from './functions/structures.ts';
import { training } from './functions/training.ts';
import { trainingMethods } from './functions/training-methods.ts';

export const corpus: readonly CorpusFunction[] = [
  ...training,
  ...trainingMethods,
  ...gradients,
  ...sequences,
  ...decisions,
  ...structures,
  ...classes,
  ...algorithms,
];
