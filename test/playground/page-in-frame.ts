/** Runs in a page beside the playground's, uses that in a frame as a person would, and posts what it shows. */

const frame = document.createElement('iframe');
frame.src = '/index.html';
frame.width = '390';
frame.height = '844';
document.body.append(frame);

const problems: string[] = [];

function element<T extends HTMLElement = HTMLElement>(selector: string): T | null {
  return frame.contentDocument?.querySelector<T>(selector) ?? null;
}

const text = (selector: string) => element(selector)?.innerText ?? '';

async function untilShown(selector: string, part: string): Promise<string> {
  while (!text(selector).includes(part)) await new Promise((next) => setTimeout(next, 50));
  return text(selector);
}

function choose(selector: string, value: string): void {
  const field = element<HTMLInputElement>(selector)!;
  field.value = value;
  for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
}

async function use() {
  await new Promise((loaded) => frame.addEventListener('load', loaded, { once: true }));
  frame.contentWindow!.addEventListener('error', ({ message }) => problems.push(message));
  const first = await untilShown('#figures', 'equal bits');
  choose('#sample', 'broken');
  const broken = await untilShown('#figures', '2 graph breaks');
  choose('input[name=steps]', '30');
  element('#train-button')!.click();
  const trained = await untilShown('#train-status', 'recognized');
  return { first, broken, trained, problems };
}

await fetch('/result', { method: 'POST', body: JSON.stringify(await use()) });

export {};
