/** Samples offered by the editor. */
export interface Sample {
  readonly title: string;
  readonly text: string;
}

const step = `
export function step(x: Tensor, y: Tensor): Tensor {
  optimizer.zeroGrad();
  const loss = crossEntropy(model.forward(x), y);
  loss.backward();
  optimizer.step();
  return loss;
}

export const inputs = () => [randn([64, 64]), randint(0, 10, [64])];
`;

const mlp = `import { crossEntropy, nn, optim, randint, randn, type Tensor } from 'tostatic';

class Mlp extends nn.Module {
  hidden = new nn.Linear(64, 128);
  output = new nn.Linear(128, 10);

  forward(x: Tensor): Tensor {
    return this.output.forward(this.hidden.forward(x).relu());
  }
}

const model = new Mlp();
const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });
${step}`;

const broken = `import { mseLoss, nn, noGrad, randn, type Tensor } from 'tostatic';

const layer = new nn.Linear(32, 32);

// A value is read in the middle: the graph ends there, and a second one resumes after it.
export function step(x: Tensor): Tensor {
  const hidden = layer.forward(x).tanh();
  const scale = hidden.abs().max().itemSync() as number;
  const scaled = scale > 0.5 ? hidden.div(scale) : hidden;
  const loss = mseLoss(scaled, x);
  loss.backward();
  noGrad(() => {
    for (const parameter of layer.parameters()) {
      parameter.sub_(parameter.grad!.mul(0.1));
      parameter.grad = null;
    }
  });
  return loss;
}

export const inputs = () => [randn([16, 32])];
`;

const deep = `import { crossEntropy, nn, optim, randint, randn, type Tensor } from 'tostatic';

// Twelve layers: most of the peak are values that backward reads. Move the budget slider.
const layers = Array.from({ length: 12 }, () => new nn.Linear(64, 64));
const model = new nn.Sequential(
  ...layers.flatMap((layer) => [layer, new nn.GELU()]),
  new nn.Linear(64, 10),
);
const optimizer = new optim.SGD(model.parameters(), { lr: 0.05 });
${step.replaceAll('64]', '64]').replace('[randn([64, 64]), randint(0, 10, [64])]', '[randn([256, 64]), randint(0, 10, [256])]')}`;

const attention = `import { nn, optim, randn, mseLoss, type Tensor } from 'tostatic';

class Block extends nn.Module {
  norm = new nn.LayerNorm(32);
  attend = new nn.MultiheadAttention(32, 4, { batchFirst: true });
  wide = new nn.Linear(32, 64);
  narrow = new nn.Linear(64, 32);

  forward(x: Tensor): Tensor {
    const h = this.norm.forward(x);
    const attended = x.add(this.attend.forward(h, h, h)[0]);
    return attended.add(this.narrow.forward(this.wide.forward(attended).gelu()));
  }
}

const model = new Block();
const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });

export function step(x: Tensor): Tensor {
  optimizer.zeroGrad();
  const loss = mseLoss(model.forward(x), x);
  loss.backward();
  optimizer.step();
  return loss;
}

export const inputs = () => [randn([8, 16, 32])];
`;

const loop = `import { randn, tensor, type Tensor } from 'tostatic';

// Check "full graph": the loop becomes part of the program, which decides by itself when it ends.
export function step(a: Tensor, b: Tensor): Tensor {
  let x = a;
  let n = 0;
  while (n < 50 && (x.sub(b).pow(2).sum().itemSync() as number) > 1e-3) {
    x = x.add(b.sub(x).mul(0.25));
    n++;
  }
  return x;
}

export const inputs = () => [randn([64]), tensor([1]).expand([64])];
`;

export const samples = {
  mlp: { title: 'A training step with Adam', text: mlp },
  broken: { title: 'A graph break', text: broken },
  deep: { title: 'Twelve layers under a budget', text: deep },
  attention: { title: 'A transformer block', text: attention },
  loop: { title: 'A loop in the program', text: loop },
} as const satisfies Record<string, Sample>;

export type SampleName = keyof typeof samples;
