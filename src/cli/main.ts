#!/usr/bin/env node
/** The `tostatic` command. */

import { Command } from 'commander';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { checkFile, checkMode } from './check/check-file.ts';
import { compareFile } from './compare/compare-file.ts';
import { explainFile } from './explain-file.ts';
import { memoryLog } from './memory-log.ts';
import { profileFile } from './profile-file.ts';
import { runFiles } from './run/run-files.ts';
import { traceFile } from './trace-file.ts';

const program = new Command('tostatic').description(
  'Looks into functions that are captured as static programs.',
);

program
  .command('trace')
  .description('runs an exported function once and prints what each stage made of it')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option(
    '-d, --dump <stages>',
    'comma-separated: source, bytecode, guards, program, joint, split, plan, passes, after:PASS',
  )
  .action(traceFile);

program
  .command('check')
  .description('compares an exported function with eager execution in every mode, effects included')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option('-n, --calls <count>', 'how often it is called', '3')
  .option('-m, --modes <names>', 'comma-separated beginnings of their names; all by default')
  .option('-s, --seconds <count>', 'how long a difference may be cut down; 0: not at all', '60')
  .action(checkFile);

program.command('check-mode', { hidden: true }).argument('<request>').action(checkMode);

program
  .command('explain')
  .description('runs an exported function and prints subgraphs, guards, memory and graph breaks')
  .argument('<file>', 'a module that exports the function and `inputs()`, its arguments')
  .option('-f, --function <name>', 'the export to capture, when there are several')
  .option('-n, --calls <count>', 'how often it is called', '2')
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
  .action(memoryLog);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof TostaticError)) throw error;
  // The message says everything; a stack of this package's own frames would hide it.
  process.stderr.write(`${error.name}: ${error.message}\n`);
  process.exitCode = 1;
}
