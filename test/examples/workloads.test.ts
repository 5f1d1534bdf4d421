/** The workloads of the examples: each trains, and as a captured step equals itself run eagerly. */

import { describe, expect, it } from 'vitest';
import * as charTransformer from '../../examples/workloads/char-transformer.ts';
import * as convNet from '../../examples/workloads/conv-net.ts';
import * as lstm from '../../examples/workloads/lstm.ts';
import * as mlp from '../../examples/workloads/mlp.ts';
import * as resnet from '../../examples/workloads/resnet.ts';
import { memory } from '../../src/index.ts';
import { expectStaticTraining } from './static-training.ts';

const cases = {
  mlp: { workload: mlp.workload, steps: 10, batch: 32 },
  'conv-net': { workload: convNet.workload, steps: 10, batch: 16 },
  resnet: { workload: resnet.workload, steps: 10, batch: 8 },
  'char-transformer': { workload: charTransformer.workload, steps: 10, batch: 4 },
  lstm: { workload: lstm.workload, steps: 10, batch: 4 },
} as const;

describe('workloads', () => {
  const before = memory.stats('cpu').allocated;

  for (const [name, own] of Object.entries(cases)) {
    it(`${name}: the loss falls, and the captured step is the eager one`, () => {
      expectStaticTraining(own.workload, own);
      expect(memory.stats('cpu').allocated).toBe(before);
    });
  }
});
