import { expect, it } from 'vitest';
import { nn, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

interface LionOptions {
  betas: [number, number];
}

/** As docs/nn.md shows it: without `factors`, and without the rates that have defaults. */
class Lion extends optim.Optimizer<LionOptions> {
  private readonly averages = this.newState('average');

  protected update({ target, grad, group, index }: optim.Update<LionOptions>) {
    const [beta1, beta2] = group.betas;
    const average = this.averages[index]!;
    target.mul_(1 - group.lr * group.weightDecay);
    target.sub_(
      average
        .mul(beta1)
        .add(grad, { alpha: 1 - beta1 })
        .sign()
        .mul(group.lr),
    );
    average.mul_(beta2).add_(grad, { alpha: 1 - beta2 });
  }
}

function train(steps: number, isCaptured: boolean) {
  seed(1);
  const model = new nn.Sequential(new nn.Linear(3, 8), new nn.ReLU(), new nn.Linear(8, 1));
  const optimizer = new Lion(model.parameters(), { lr: 0.01, betas: [0.9, 0.99] });
  const schedule = new optim.ExponentialLR(optimizer, 0.9);
  const body = (x: Tensor) => {
    const loss = model.forward(x).square().mean();
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    schedule.step();
    return loss;
  };
  const captured = toStatic(body, { fallback: 'error' });
  const losses = Array.from({ length: steps }, () => {
    const x = randn([4, 3]);
    return (isCaptured ? captured : body)(x).itemSync();
  });
  const { state, groups } = optimizer.stateDict();
  const tensors = [...model.parameters(), ...Object.values(state).flat()];
  return {
    losses,
    groups,
    values: tensors.map((own) => own.toArraySync()),
    breaks: captured.stats().breaks,
  };
}

it("a user's optimizer has state, defaults, schedules and whole captured steps", () => {
  tidy(() => {
    const eager = train(6, false);
    const captured = train(6, true);
    expect(captured).toEqual({ ...eager, breaks: [] });
    expect(eager.groups[0]).toMatchObject({ weightDecay: 0, maximize: false, betas: [0.9, 0.99] });
  });
});
