/** The page: sends text to a worker and shows the results. */

import { type SampleName, samples } from '../samples.ts';
import { Compute } from './compute.ts';
import { byId, element } from './dom.ts';
import { Editor, type Remark } from './editor.ts';
import { figures, tabsOf } from './inspection.ts';
import { Tabs } from './tabs.ts';
import { setUpTraining } from './training.ts';

const sample = byId('sample', HTMLSelectElement);
const fullGraph = byId('full-graph', HTMLInputElement);
const budget = byId('budget', HTMLInputElement);
const budgetValue = byId('budget-value', HTMLOutputElement);
const status = byId('status', HTMLParagraphElement);
const readTitle = byId('read-title', HTMLHeadingElement);
const problem = byId('problem', HTMLParagraphElement);
const printed = byId('printed', HTMLPreElement);
const shownFigures = byId('figures', HTMLDListElement);
const tabs = new Tabs(byId('tabs', HTMLDivElement), byId('panel', HTMLDivElement));
const compute = new Compute();

/** Milliseconds without an edit before the text is captured. */
const quietTime = 500;
/** Milliseconds after which a capture is unusually slow. */
const hintTime = 5000;
let timer = 0;
let turn = 0;

const editor = new Editor(byId('editor', HTMLDivElement), samples.mlp.text, () => later());
const results = shownFigures.parentElement!;

/** Selected for an edited text, so that every example can be chosen, even the one that was edited. */
const own = element('option', { value: '', hidden: '' }, 'Your own');

function later(): void {
  if (editor.text !== samples[sample.value as SampleName]?.text) own.selected = true;
  clearTimeout(timer);
  timer = window.setTimeout(inspect, quietTime);
}

async function inspect(): Promise<void> {
  clearTimeout(timer);
  const mine = ++turn;
  status.textContent = 'Capturing …';
  const slow = window.setTimeout(() => {
    if (mine !== turn) return;
    status.textContent = 'Capturing … (large tensors, or a loop that never ends? Edit it.)';
    problem.hidden = true;
    editor.show([], []);
    outdate(true);
  }, hintTime);
  const share = Number(budget.value) / 100;
  const answer = await compute.request({
    kind: 'inspect',
    text: editor.text,
    budgetShare: share,
    fullGraph: fullGraph.checked,
  });
  clearTimeout(slow);
  if (mine !== turn || answer === null) return;
  const failed = answer.kind === 'failed';
  problem.hidden = !failed;
  outdate(failed);
  if (answer.kind === 'failed') {
    const { line, message } = answer.problem;
    status.textContent = 'not captured';
    printed.hidden = true;
    problem.textContent = `line ${line}: ${message}`;
    editor.show([{ ...answer.problem, severity: 'error' }], []);
  } else if (answer.kind === 'inspected') {
    const { result } = answer;
    status.textContent = `${result.function} is captured`;
    shownFigures.replaceChildren(...figures(result));
    tabs.set(tabsOf(result));
    printed.hidden = result.printed.length === 0;
    printed.textContent = result.printed.join('\n');
    const remarks = result.breaks.map((each): Remark => {
      return { ...each, message: `graph break: ${each.message}. ${each.why}`, severity: 'warning' };
    });
    editor.show(remarks, result.opsByLine);
  }
}

/** Marks the shown results as those of a previous text, or as current. */
function outdate(isOutdated: boolean): void {
  results.classList.toggle('stale', isOutdated);
  readTitle.textContent = isOutdated ? 'Results of the last captured function' : 'Results';
}

sample.append(own);
for (const [name, { title }] of Object.entries(samples)) {
  sample.append(element('option', { value: name }, title));
}
sample.addEventListener('change', () => {
  budget.value = '100';
  showBudget();
  fullGraph.checked = sample.value === 'loop';
  editor.text = samples[sample.value as SampleName].text;
});
sample.value = 'mlp';
fullGraph.addEventListener('change', () => inspect());
budget.addEventListener('input', showBudget);
budget.addEventListener('change', () => inspect());

function showBudget(): void {
  budgetValue.textContent = budget.value === '100' ? 'none' : `${budget.value} %`;
}

setUpTraining();
await inspect();
