import type { Device, TrainRequest } from '../messages.ts';
import { Compute } from './compute.ts';
import { Curve } from './curve.ts';
import { byId, shownBytes, shownTime } from './dom.ts';

/** Sets up the training form: trains in a separate worker, and stops at a second click. */
export function setUpTraining(): void {
  const form = byId('train-form', HTMLFormElement);
  const button = byId('train-button', HTMLButtonElement);
  const bar = byId('train-progress', HTMLProgressElement);
  const status = byId('train-status', HTMLParagraphElement);
  const curves = byId('curves', HTMLDivElement);
  let loss: Curve | undefined;
  let times: Curve | undefined;
  const compute = new Compute();
  let isRunning = false;

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isRunning) return compute.stop();
    isRunning = true;
    button.textContent = 'Stop';
    const request = requestOf(new FormData(form));
    bar.hidden = false;
    curves.hidden = false;
    // Curves measure their parent element, which must be visible.
    loss ??= new Curve(byId('loss', HTMLDivElement));
    times ??= new Curve(byId('times', HTMLDivElement));
    loss.clear();
    times.clear();
    status.textContent = 'Loading the digits …';
    const answer = await compute.request(request, (progress) => {
      bar.value = progress.step / request.steps;
      loss?.add(progress.step, progress.loss);
      times?.add(progress.step, progress.stepTime);
      const { step, stepTime, allocated } = progress;
      status.textContent = `Step ${step} of ${request.steps}: loss ${progress.loss.toFixed(4)}, ${shownTime(stepTime)}, ${shownBytes(allocated)} between steps`;
    });
    isRunning = false;
    button.textContent = 'Train';
    bar.value = 0;
    bar.hidden = true;
    if (answer === null) status.textContent = 'Stopped.';
    else if (answer.kind === 'failed') status.textContent = answer.problem.message;
    else if (answer.kind === 'trained') {
      const { accuracy, peak, stepTime, graphs, breaks } = answer.result;
      const captured = request.captured ? `; ${graphs} graphs, ${breaks} breaks` : '';
      status.textContent = `${(accuracy * 100).toFixed(1)} % of the test digits are recognized; ${shownTime(stepTime)} per step (median), peak ${shownBytes(peak)}${captured}`;
    }
  });
}

function requestOf(form: FormData): Omit<TrainRequest, 'id'> {
  return {
    kind: 'train',
    model: form.get('model') === 'mlp' ? 'mlp' : 'conv-net',
    device: form.get('device') as Device,
    captured: form.get('mode') === 'captured',
    steps: Number(form.get('steps')),
    images: new URL('digits.bin', document.baseURI).href,
  };
}
