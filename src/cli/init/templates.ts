/** The files of projects created by `tostatic init`. */

/** Returns contents by path, for a project with this name and version of tostatic. */
type Template = (name: string, version: string) => Readonly<Record<string, string>>;

const manifest = (fields: object): string => `${JSON.stringify(fields, null, 2)}\n`;

const compilerOptions = {
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'esnext.disposable', 'dom'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

/** A module specifier within the project. */
const local = (name: string): string => `'./${name}.ts'`;

const ignored = 'node_modules\ndist\n';

/** The model and its training step, for both templates. */
const model = `import { crossEntropy, nn, optim, relu, type Tensor, toStatic } from 'tostatic';

/** Two layers that classify points on the arms of a spiral. */
class Net extends nn.Module {
  hidden = new nn.Linear(2, 64);
  output = new nn.Linear(64, 3);

  override forward(points: Tensor): Tensor {
    return this.output.forward(relu(this.hidden.forward(points)));
  }
}

export const net = new Net();
const optimizer = new optim.Adam(net.parameters(), { lr: 0.01 });

/** Forward, backward and update as one planned program. */
export const step = toStatic((points: Tensor, labels: Tensor) => {
  const loss = crossEntropy(net.forward(points), labels);
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  return loss;
});
`;

const spiral = `import { data, tensor } from 'tostatic';

/** Points on three arms of a spiral, with the number of their arm. */
export function spiral(perArm: number): data.TensorDataset {
  const points: number[][] = [];
  const labels: number[] = [];
  for (let arm = 0; arm < 3; arm++) {
    for (let i = 0; i < perArm; i++) {
      const radius = i / perArm;
      const angle = 2.1 * arm + 4 * radius + 0.2 * (Math.random() - 0.5);
      points.push([radius * Math.cos(angle), radius * Math.sin(angle)]);
      labels.push(arm);
    }
  }
  return new data.TensorDataset(tensor(points), tensor(labels, { dtype: 'int32' }));
}
`;

const training = `import { data, seed } from 'tostatic';
import { net, step } from ${local('model')};
import { spiral } from ${local('spiral')};

/** Trains, and returns the loss of each step. */
export async function train(epochs: number, say: (text: string) => void): Promise<number[]> {
  seed(1);
  const points = spiral(300);
  const loader = new data.DataLoader(points, { batchSize: 50, shuffle: true });
  const losses: number[] = [];
  for (let epoch = 1; epoch <= epochs; epoch++) {
    for await (const [x, y] of loader) {
      using loss = step(x!, y!);
      losses.push(await loss.item());
    }
    if (epoch % 10 === 0) say(\`epoch \${epoch}: loss \${losses.at(-1)!.toFixed(4)}\`);
  }
  return losses;
}

/** The share of points whose arm is found. */
export async function accuracy(): Promise<number> {
  const points = spiral(100);
  let right = 0;
  for await (const [x, y] of new data.DataLoader(points, { batchSize: 100 })) {
    using scores = net.forward(x!);
    using found = scores.argmax(1).eq(y!).sum();
    right += await found.item();
  }
  return right / points.length;
}
`;

const node: Template = (name, version) => ({
  'package.json': manifest({
    name,
    private: true,
    type: 'module',
    scripts: { start: 'tsx src/main.ts', check: 'tsc' },
    dependencies: { tostatic: version },
    devDependencies: { tsx: '^4.0.0', typescript: '^5.6.0' },
  }),
  'tsconfig.json': manifest({
    compilerOptions: { ...compilerOptions, allowImportingTsExtensions: true },
    include: ['src'],
  }),
  '.gitignore': ignored,
  'src/model.ts': model,
  'src/spiral.ts': spiral,
  'src/train.ts': training,
  'src/main.ts': `import { plot, randn, summary } from 'tostatic';
import { net, step } from ${local('model')};
import { accuracy, train } from ${local('train')};

console.log(String(summary(net, randn([50, 2]))));
const losses = await train(60, (text) => console.log(text));
console.log(plot(losses, { title: 'loss' }));
console.log(step.explain());
console.log(\`accuracy \${(100 * (await accuracy())).toFixed(1)} %\`);
`,
  'README.md': `# ${name}

\`\`\`sh
npm install && npm start
\`\`\`

\`src/model.ts\` has the network and its training step, \`src/train.ts\` the loop. \`npx tostatic --help\` lists the commands that
look into captured functions.
`,
});

const vite: Template = (name, version) => ({
  'package.json': manifest({
    name,
    private: true,
    type: 'module',
    scripts: { start: 'vite --open', build: 'vite build', check: 'tsc' },
    dependencies: { tostatic: version },
    devDependencies: { typescript: '^5.6.0', vite: '^8.0.0' },
  }),
  'tsconfig.json': manifest({
    compilerOptions: { ...compilerOptions, allowImportingTsExtensions: true },
    include: ['src'],
  }),
  '.gitignore': ignored,
  'vite.config.js': `import { tostatic } from 'tostatic/plugin';
import { defineConfig } from 'vite';

// The plugin puts source and scope of captured functions into the page, where there is no inspector.
export default defineConfig({ plugins: [tostatic.vite()], build: { target: 'es2022' } });
`,
  'index.html': `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>${name}</title>
  <h1>${name}</h1>
  <p id="state">training …</p>
  <pre id="curve"></pre>
  <script type="module" src="/src/main.ts"></script>
</html>
`,
  'src/model.ts': model,
  'src/spiral.ts': spiral,
  'src/train.ts': training,
  'src/main.ts': `import { plot } from 'tostatic';
import { accuracy, train } from ${local('train')};

const state = document.querySelector('#state')!;
const losses = await train(60, (text) => {
  state.textContent = text;
});
document.querySelector('#curve')!.textContent = plot(losses, { title: 'loss' });
state.textContent = \`accuracy \${(100 * (await accuracy())).toFixed(1)} %\`;
`,
  'README.md': `# ${name}

\`\`\`sh
npm install && npm start
\`\`\`

A page that trains. \`src/model.ts\` has the network and its training step; \`npm run build\` writes \`dist/\`.
`,
});

export const templates: Readonly<Record<string, Template>> = { node, vite };
