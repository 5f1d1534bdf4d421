/** Trains a captured model, saves it, and continues from the file as a process without the compiler would. */

// A page or process that only runs the file imports all of this from 'tostatic/runtime'.
import type { LoadedProgram } from '../runtime/index.ts';
import {
  load,
  mseLoss,
  nn,
  optim,
  randn,
  save,
  seed,
  type Tensor,
  tidy,
  toStatic,
} from '../src/index.ts';

seed(1);
const model = new nn.Sequential(new nn.Linear(8, 16), new nn.Tanh(), new nn.Linear(16, 1));
const [input, target] = [randn([32, 8]), randn([32, 1])];
const objective = toStatic((x: Tensor, y: Tensor) => mseLoss(model.forward(x), y), {
  fullGraph: true,
});

function train(name: string, run: (x: Tensor, y: Tensor) => unknown, parameters: Tensor[]): void {
  const optimizer = new optim.SGD(parameters, { lr: 0.5 });
  for (let step = 1; step <= 3; step++) {
    tidy(() => {
      optimizer.zeroGrad();
      const loss = run(input, target) as Tensor;
      loss.backward();
      optimizer.step();
      console.log(`${name}, step ${step}: ${loss.itemSync().toFixed(6)}`);
    });
  }
}

train('before saving', objective, model.parameters());
const bytes = await save(objective);
console.log(
  `${bytes.length} bytes: ${Object.keys(model.stateDict()).join(', ')}, forward and backward`,
);

const program = (await load(bytes)) as LoadedProgram;
train('the function', objective, model.parameters());
train('the file', program, program.parameters());
console.log(program.programs()[0]);
