#!/usr/bin/env node
/** The `tostatic` command. */

import { Command } from 'commander';
import { checkFile, checkMode } from './check/check-file.ts';
import { compareFile } from './compare/compare-file.ts';
import { printCompletion } from './completion.ts';
import { explainFile } from './explain-file.ts';
import { exportFile } from './export-file.ts';
import { initProject } from './init/init-project.ts';
import { memoryLog } from './memory-log.ts';
import { packageVersion } from './package-version.ts';
import { profileFile } from './profile-file.ts';
import { errorText } from './report-error.ts';
import { runFiles } from './run/run-files.ts';
import { traceFile } from './trace-file.ts';

const program = new Command('tostatic')
  .description('Makes projects, and looks into functions that are captured as static programs.')
  .version(packageVersion(), '-V, --version', 'print the version')
  .showHelpAfterError('tostatic --help lists commands; tostatic COMMAND --help has examples')
  .addHelpText('after', examples('init my-model', 'explain model.js', 'compare workload.js'));

program
  .command('init')
  .description('makes a project that trains a small model')
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
  .option('-n, --calls <count>', 'how often it is called', '3')
  .option('-m, --modes <names>', 'comma-separated beginnings of their names; all by default')
  .option('-s, --seconds <count>', 'how long a difference may be cut down; 0: not at all', '60')
  .addHelpText('after', examples('check model.js', 'check model.js --modes fullGraph'))
  .action(checkFile);

program.command('check-mode', { hidden: true }).argument('<request>').action(checkMode);

program
  .command('export')
  .description('writes a saved program for another engine: ONNX, or StableHLO for XLA')
  .argument('<file>', 'a file that save() has made of a captured function')
  .requiredOption('--to <form>', 'onnx or stablehlo')
  .option('-o, --out <path>', 'the beginning of the names to write; that of the file by default')
  .option('-p, --program <number>', 'the program among those of the file; the last one by default')
  .option('--sizes <which>', 'ONNX: symbolic (the default) or fixed, those that were compiled')
  .option('--external-data', 'ONNX: writes weights to a file beside the model')
  .addHelpText(
    'after',
    examples('export step.tostatic --to stablehlo', 'export step.tostatic --to onnx'),
  )
  .action(exportFile);

program
  .command('explain')
  .description(
    'runs an exported function and prints subgraphs, memory, graph breaks and what costs time',
  )
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option('-n, --calls <count>', 'how often it is called', '2')
  .option('--guards', 'list inputs, guards and saved values too')
  .option('--html <file>', 'write a page with the source beside what became of it')
  .addHelpText('after', examples('explain model.js', 'explain model.js --html explain.html'))
  .action(explainFile);

program
  .command('profile')
  .description('runs an exported function and prints where its time goes, op by op')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to run, when there are several')
  .option('-n, --calls <count>', 'how many calls are recorded', '10')
  .option('--warmup <count>', 'how many run before, which trace and compile', '2')
  .option('--eager', 'run it as it is, not captured')
  .option('--sort <key>', 'total, self, calls, max, min, average, allocated or name', 'total')
  .option('--limit <count>', 'rows to print', '30')
  .option('--trace <file>', 'write a timeline for chrome://tracing or ui.perfetto.dev')
  .option('--json <file>', 'write totals and rows')
  .addHelpText('after', examples('profile model.js --trace trace.json'))
  .action(profileFile);

program
  .command('compare')
  .description('runs a training step eagerly and as graphs, and compares memory and time')
  .argument('<file>', 'a module that exports `workload`, as those in examples/workloads do')
  .option('--device <name>', 'cpu, or meta, which counts bytes and computes nothing', 'cpu')
  .option('--size <size>', 'reduced, or full, which is for meta', 'reduced')
  .option('--batch <count>', 'samples per step, instead of the number of the workload')
  .option('--steps <count>', 'steps after the first ones, for times and losses', '3')
  .option('--ways <names>', 'comma-separated: eager, tidy, full, sot, breaks, or an ablation')
  .option('--ablations', 'also with each clean-up of the memory plan off')
  .option('--fallback <modes>', 'sweep with forced breaks over: eager, error')
  .option('--dynamic <modes>', 'sweep with forced breaks over: auto, true, false')
  .option('--min-graph-size <counts>', 'sweep with forced breaks over: fewer ops run eagerly')
  .option('--budget <sizes>', 'sweep of the whole step over: bytes beside its inputs, or none')
  .option('--json <file>', 'write all results')
  .option('--html <file>', 'write a page with timelines, peaks by line and saved values')
  .addHelpText('after', examples('compare workload.js --html report.html'))
  .action(compareFile);

program
  .command('run')
  .description(
    'executes plain scripts through their bytecode, each in a fresh realm: a line of JSON per file',
  )
  .argument('[files...]', 'scripts; more names are read from standard input, one a line')
  .option('--executor <name>', 'machine (generated code) or interpreter', 'machine')
  .option(
    '--suspend-everywhere',
    'put every frame down as data, and resume it, at every instruction',
  )
  .option('--timeout <ms>', 'a file that runs longer is stopped', '10000')
  .option('--jobs <count>', 'how many files run at a time')
  .addHelpText('after', examples('run a.js b.js', 'run < names.txt'))
  .action(runFiles);

program
  .command('memory')
  .description('sums up an allocator log: remaining, max, allocated and freed bytes and counts')
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

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(errorText(error));
  process.exitCode = 1;
}
