import cliProgress from 'cli-progress';

/** Shows the progress of a training run. */
export interface Progress {
  step(step: number, loss: number): void;
  done(summary: string): void;
  /** Ends the line after a failure. */
  stop(): void;
}

/** A bar on a terminal, plain lines elsewhere. */
export function startProgress(title: string, steps: number): Progress {
  return process.stdout.isTTY ? progressBar(title, steps) : progressLines(title, steps);
}

function progressBar(title: string, steps: number): Progress {
  const bar = new cliProgress.SingleBar(
    {
      format: `${title.padEnd(28)} {bar} {percentage} %  loss {loss}  {eta_formatted} left`,
      stream: process.stdout,
      hideCursor: true,
      clearOnComplete: true,
      stopOnComplete: false,
      autopadding: true,
      barsize: 30,
    },
    cliProgress.Presets.shades_classic,
  );
  // Ctrl-C ends the process, but first restores the cursor and line wrapping.
  const interrupted = (signal: NodeJS.Signals): void => {
    stop();
    process.kill(process.pid, signal);
  };
  const stop = (): void => {
    bar.stop();
    for (const signal of signals) process.off(signal, interrupted);
  };
  for (const signal of signals) process.once(signal, interrupted);
  bar.start(steps, 0, { loss: '…' });
  return {
    step: (step, loss) => bar.update(step, { loss: loss.toFixed(4) }),
    done(summary) {
      stop();
      console.log(`${title.padEnd(28)} ${summary}`);
    },
    stop,
  };
}

const signals = ['SIGINT', 'SIGTERM'] as const;

function progressLines(title: string, steps: number): Progress {
  const parts = 4;
  let told = 0;
  return {
    step(step, loss) {
      const part = Math.floor((step * parts) / steps);
      if (part === told || part === parts) return;
      told = part;
      console.log(`${title}: step ${step} of ${steps}, loss ${loss.toFixed(4)}`);
    },
    done: (summary) => console.log(`${title}: ${summary}`),
    stop() {},
  };
}
