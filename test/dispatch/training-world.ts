import { dropout, nn, optim, seed, type Tensor } from '../../src/index.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';

/** A training step with random numbers and momentum, which after call `failing` throws what the user threw. */
export function trainingWorld(failing?: number): World {
  seed(5);
  const w = weights([3, 2]);
  const layer = new nn.Linear(2, 2);
  const optimizer = new optim.SGD([w, ...layer.parameters()], { lr: 0.1, momentum: 0.9 });
  const log: number[] = [];
  return {
    fn: (x: Tensor) => {
      const y = dropout(layer.forward(x.matmul(w)), 0.5);
      y.square().sum().backward();
      optimizer.step();
      optimizer.zeroGrad();
      log.push(y.shape[0]!);
      if (log.length === failing) throw new RangeError('of the user');
      return y;
    },
    args: (call) => [values([2, 3], call)],
    state: () => [log, w.detach(), ...[...layer.parameters()].map((p) => p.detach())],
  };
}
