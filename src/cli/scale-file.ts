import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { exportStableHLO } from '../export/index.ts';
import { type Mesh, parseMesh, parseShardHint } from '../export/scale/mesh.ts';
import { type ScalePlan, scalePlan } from '../export/scale/scale-plan.ts';
import { expectSaved } from './files/expect-saved.ts';
import { writeOutput } from './files/write-output.ts';

interface Options {
  readonly mesh: string;
  readonly shard: readonly string[];
  readonly out?: string;
  readonly program?: string;
  readonly maxIterations?: string;
}

/** `tostatic scale`: writes a folder that trains the saved step on the devices of a mesh. */
export async function scaleFile(file: string, options: Options): Promise<void> {
  const mesh = parseMesh(options.mesh);
  const hints = options.shard.map((hint) => parseShardHint(hint, mesh));
  expectSaved('scale', file);
  const folder = options.out ?? `${basename(file).replace(/\.[^.]*$/, '')}-scaled`;
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new ArgumentError({
      what: 'scale: the folder is not empty',
      given: folder,
      expected: 'a new or empty folder, since it will hold data and checkpoints',
      remedy: 'name another one with --out',
    });
  }
  const { program, maxIterations } = options;
  const choice = {
    ...(program !== undefined && { program: Number(program) }),
    ...(maxIterations !== undefined && { maxIterations: Number(maxIterations) }),
  };
  const { text, sidecar, state } = await exportStableHLO(file, choice);
  const plan = scalePlan(sidecar, mesh, hints);
  mkdirSync(join(folder, 'data'), { recursive: true });
  const write = (name: string, content: string | Uint8Array) =>
    writeOutput(join(folder, name), content);
  write('step.mlir', text);
  write('scale.json', `${JSON.stringify(plan, null, 2)}\n`);
  write('state.safetensors', state);
  write('run.py', readFileSync(new URL('../export/scale/run.py', import.meta.url)));
  write('README.md', readme(plan, mesh));
  console.log(`${folder}  ${[...mesh.values()].reduce((a, b) => a * b, 1)} devices`);
  for (const { name, type, shape } of plan.inputs.filter(({ kind }) => kind === 'argument')) {
    console.log(`${join(folder, 'data', name)}.npy  ${rows(type, shape)}, to be put there`);
  }
  console.log(`python ${join(folder, 'run.py')} --steps 1000`);
  if (sidecar.unchecked > 0) {
    console.log(`${sidecar.unchecked} checks of the function are not made there`);
  }
}

const rows = (type: string, shape: readonly number[]) =>
  `${type} [${['rows', ...shape.slice(1)].join(', ')}]`;

function readme({ name, inputs }: ScalePlan, mesh: Mesh): string {
  const data = inputs
    .filter(({ kind }) => kind === 'argument')
    .map(
      ({ name: port, type, shape }) =>
        `- \`data/${port}.npy\`, or \`data/${port}/*.npy\`: ${rows(type, shape)}; ${shape[0] ?? 1} rows are one step`,
    );
  return `# ${name || 'A training step'} on ${[...mesh].map(([axis, size]) => `${axis}=${size}`).join(', ')}

\`\`\`sh
pip install jax
python run.py --steps 1000
\`\`\`

\`python run.py --help\` has the options: hosts, checkpoints, shuffling, other sizes of the mesh.

${data.join('\n')}

Progress is in \`log.jsonl\`, checkpoints are in \`checkpoints\`: safetensors with the names of \`scale.json\`.
A run continues from the last one.
`;
}
