#!/usr/bin/env node
/** The `tostatic` command. */

import '../../runtime/numerics/environment.ts';
import { Command } from 'commander';
import { packageVersion } from '../options/package-version.ts';
import { checkFile } from './check/check-file.ts';
import { serveModes } from './check/serve-modes.ts';
import { compareFile } from './compare/compare-file.ts';
import { printCompletion } from './completion.ts';
import { explainFile } from './explain-file.ts';
import { exportFile } from './export-file.ts';
import { errorText } from './files/report-error.ts';
import { initProject } from './init/init-project.ts';
import { memoryLog } from './memory-log.ts';
import { profileFile } from './profile-file.ts';
import { runFiles } from './run/run-files.ts';
import { scaleFile } from './scale-file.ts';
import { traceFile } from './trace-file.ts';

const program = new Command('tostatic')
  .description('Creates projects, and shows how toStatic compiles your functions.')
  .version(packageVersion, '-V, --version', 'print the version')
  .showHelpAfterError('tostatic --help lists commands; tostatic COMMAND --help has examples')
  .addHelpText('after', examples('init my-model', 'explain model.js', 'compare workload.js'));

program
  .command('init')
  .description('creates a project that trains a small model')
  .argument('[folder]', 'a new or empty folder', '.')
  .option('-t, --template <name>', 'node, or vite for a page', 'node')
  .addHelpText('after', examples('init my-model', 'init my-page --template vite'))
  .action(initProject);

program
  .command('trace')
  .description('runs an exported function once and prints what each stage made of it')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option(
    '-d, --dump <stages>',
    'comma-separated: source, bytecode, guards, program, joint, split, plan, passes, after:PASS',
  )
  .addHelpText('after', examples('trace model.js', 'trace model.js --dump bytecode,plan'))
  .action(traceFile);

program
  .command('check')
  .description('compares an exported function with eager execution in every mode, effects included')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option('-n, --calls <count>', 'number of calls', '3')
  .option('-m, --modes <names>', 'comma-separated names or prefixes; by default all')
  .option('-s, --seconds <count>', 'time limit for reducing a failing module; 0 disables it', '60')
  .addHelpText('after', examples('check model.js', 'check model.js --modes fullGraph'))
  .action(checkFile);

program.command('check-mode', { hidden: true }).action(serveModes);

program
  .command('export')
  .description('writes a saved program as ONNX, as StableHLO for XLA, or as one small ES module')
  .argument('<file>', 'a file that save() has made of a captured function')
  .requiredOption('--to <form>', 'onnx, stablehlo or module')
  .option(
    '-o, --out <path>',
    'path of the output without its extension; by default the name of the file',
  )
  .option(
    '-p, --program <number>',
    'index of the program in the file, of a module also `all`; by default the last',
  )
  .option(
    '--sizes <which>',
    'ONNX: symbolic or fixed; by default symbolic where there is a program for every size',
  )
  .option('--external-data', 'ONNX, module: writes weights to a file beside it')
  .option('--no-relaxed-simd', 'module: for engines without relaxed SIMD')
  .option('--max-iterations <count>', 'StableHLO: the most iterations of a loop with gradients')
  .addHelpText(
    'after',
    examples(
      'export step.tostatic --to stablehlo',
      'export step.tostatic --to onnx',
      'export step.tostatic --to module',
    ),
  )
  .action(exportFile);

program
  .command('scale')
  .description('writes a folder that trains a saved step with JAX on many devices and hosts')
  .argument('<file>', 'a file that save() has made of a captured training step')
  .requiredOption('--mesh <sizes>', 'sizes of the mesh by axis: data=4, or data=4,model=2')
  .option(
    '--shard <hint>',
    'NAME=axis,… splits tensors over the mesh; * matches any text, - for a whole dimension',
    (hint: string, hints: readonly string[]) => [...hints, hint],
    [] as readonly string[],
  )
  .option('-o, --out <folder>', "a new folder; by default the file's name with -scaled")
  .option('-p, --program <number>', 'index of the program in the file; by default the last')
  .option('--max-iterations <count>', 'the most iterations of a loop with gradients')
  .addHelpText(
    'after',
    examples(
      'scale step.tostatic --mesh data=4',
      "scale step.tostatic --mesh data=2,model=2 --shard '*.weight=model'",
    ),
  )
  .action(scaleFile);

program
  .command('explain')
  .description(
    'runs an exported function and prints its subgraphs, memory, graph breaks and warnings',
  )
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option('-n, --calls <count>', 'number of calls', '2')
  .option('--guards', 'also list inputs, guards and saved values')
  .option('--html <file>', 'write a page that shows each source line beside its ops')
  .addHelpText('after', examples('explain model.js', 'explain model.js --html explain.html'))
  .action(explainFile);

program
  .command('profile')
  .description('runs an exported function and prints where its time goes, op by op')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to run, when there are several')
  .option('-n, --calls <count>', 'number of recorded calls', '10')
  .option('--warmup <count>', 'calls before recording, which trace and compile', '2')
  .option('--eager', 'run it eagerly')
  .option('--sort <key>', 'total, self, calls, max, min, average, allocated or name', 'total')
  .option('--limit <count>', 'rows to print', '30')
  .option('--trace <file>', 'write a timeline for chrome://tracing or ui.perfetto.dev')
  .option('--json <file>', 'write totals and rows')
  .addHelpText('after', examples('profile model.js --trace trace.json'))
  .action(profileFile);

program
  .command('compare')
  .description('runs a training step eagerly and as graphs, and compares memory and time')
  .argument('<file>', 'a module that exports a training step and its inputs, or a `workload`')
  .option('--function <name>', 'the exported step, if there are several')
  .option('--device <name>', 'cpu, or meta, which counts bytes without computing', 'cpu')
  .option('--size <size>', 'reduced, or full, which is for meta', 'reduced')
  .option('--batch <count>', "samples per step; by default the workload's")
  .option('--steps <count>', 'measured steps after warm-up', '3')
  .option(
    '--modes <names>',
    'comma-separated: eager, tidy, full, sot, breaks, or an ablation; of a step: eager, tidy, static',
  )
  .option('--ablations', 'also run with each memory optimization disabled')
  .option('--fallback <modes>', 'sweep over eager, error; with forced breaks')
  .option('--dynamic <modes>', 'sweep over auto, true, false; with forced breaks')
  .option(
    '--min-graph-size <counts>',
    'sweep over smallest graph sizes, in ops; with forced breaks',
  )
  .option('--budget <sizes>', 'sweep over memory budgets of the whole step: 400KiB, 2GiB, none')
  .option(
    '--curve <count>',
    'measures this many budgets from none to the smallest: peak, arithmetic, time',
  )
  .option('--json <file>', 'write all results')
  .option('--html <file>', 'write a page with timelines, peaks by line and saved values')
  .addHelpText(
    'after',
    examples(
      'compare step.js',
      'compare step.js --curve 6',
      'compare workload.js --html report.html',
    ),
  )
  .action(compareFile);

program
  .command('run')
  .description(
    'executes plain scripts as bytecode, each in a fresh realm, and prints a line of JSON for each',
  )
  .argument('[files...]', 'scripts; further names are read from standard input, one per line')
  .option('--executor <name>', 'machine (generated code) or interpreter', 'machine')
  .option('--suspend-everywhere', 'suspend and resume every frame at every instruction')
  .option('--timeout <ms>', 'time limit per file', '10000')
  .option('--jobs <count>', 'number of files that run in parallel')
  .addHelpText('after', examples('run a.js b.js', 'run < names.txt'))
  .action(runFiles);

program
  .command('memory')
  .description(
    'summarizes an allocator log: remaining, peak, allocated and freed bytes, with counts',
  )
  .argument(
    '<log>',
    'lines with `Alloc N bytes, ptr = 0x…` and `Free N bytes, ptr = 0x…`; - reads standard input',
  )
  .option('--from <mark>', 'begin after the first line that contains this')
  .option('--to <mark>', 'end before the next line that contains this')
  .option('--json', 'print JSON')
  .addHelpText('after', examples('memory training.log', 'memory - --json < training.log'))
  .action(memoryLog);

program
  .command('completion')
  .description('prints a script that completes commands, options and files')
  .argument('<shell>', 'bash, zsh or fish')
  .addHelpText('after', '\nExample:\n  $ source <(tostatic completion bash)\n')
  .action((shell: string) => printCompletion(program, shell));

/** Lines of `tostatic --help`. */
function examples(...lines: readonly string[]): string {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return `\n${title}:\n${lines.map((line) => `  $ tostatic ${line}\n`).join('')}`;
}

// `tostatic trace … | head` has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(errorText(error));
  process.exitCode = 1;
}
