import type { Page } from 'playwright-core';
import type { ApiClient } from '../load/api-client.js';
import { type Console, openPage, signedIn } from './browser.js';

interface Choice {
  attribute: string;
  comparison?: string;
  /** Value to choose from a list; `typed`: a value to type. */
  chosen?: string;
  typed?: string;
}

/** Milliseconds from the choice to the painted rows, and what they consist of. */
export interface Filtered {
  name: string;
  total: number;
  /** Before the request leaves. */
  before: number;
  /** From the request to the last byte of its answer. */
  server: number;
  /** From the answer to the painted rows. */
  render: number;
}

interface Times {
  at: number;
  asked: number;
  answered: number;
  end: number;
}

const SEARCH = 'greta';
/** The search asks once typing has paused for so long; no part of what is measured. */
const PAUSE_MS = 200;

/** Every kind of filter that the dialog offers, and the search, once in each new browser. */
export async function measureFilters(
  console: Console,
  api: ApiClient,
  runs: number,
): Promise<Filtered[]> {
  const choices = await choicesFor(api);
  const cookies = await signedIn(console);
  const found: Filtered[] = [];
  for (let run = 0; run < runs; run += 1) {
    const page = await openPage(console, '/devices', cookies);
    try {
      await page.evaluate('bench.rows()');
      for (const choice of choices) found.push(await filter(page, choice));
      found.push(await search(page));
    } finally {
      await page.context().close();
    }
  }
  return found;
}

/** Values that the fleet has. */
async function choicesFor(api: ApiClient): Promise<Choice[]> {
  const version = await mostCommon(api, 'os_version');
  return [
    { attribute: 'Platform', chosen: 'macOS' },
    { attribute: 'OS version', typed: version },
    { attribute: 'OS version', comparison: 'from', typed: version },
    { attribute: 'Model', comparison: 'contains', typed: 'MacBook' },
    { attribute: 'Supervised', chosen: 'false' },
    { attribute: 'Last contact', typed: '7' },
    { attribute: 'Asset tag', comparison: 'starts with', typed: 'A-1' },
    { attribute: 'Tags', chosen: 'tag-0001' },
    { attribute: 'Applications', typed: 'com.apple.Safari' },
  ];
}

async function mostCommon(api: ApiClient, name: string): Promise<string> {
  const { status, body } = await api.call({ path: `/devices/facets?by=${name}` });
  if (status !== 200) throw new Error(`facets: ${status} ${body}`);
  const facets: { value: string; count: number }[] = JSON.parse(String(body)).meta.facets[name];
  const [first] = facets.toSorted((one, other) => other.count - one.count);
  if (first === undefined) throw new Error(`no device has ${name}`);
  return first.value;
}

async function filter(page: Page, choice: Choice): Promise<Filtered> {
  await page.getByRole('button', { name: '+ Add filter' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Attribute').selectOption({ label: choice.attribute });
  if (choice.comparison !== undefined) {
    await dialog
      .getByLabel('Comparison', { exact: true })
      .selectOption({ label: choice.comparison });
  }
  const value = dialog.getByLabel('Value');
  if (choice.chosen === undefined) await value.fill(choice.typed ?? '');
  else await value.selectOption(choice.chosen);
  const { attribute, comparison = '', chosen = choice.typed } = choice;
  const name = [attribute, comparison, chosen].filter((part) => part !== '').join(' ');
  const measuring = page.evaluate<Times>(`bench.filtered('click')`);
  await dialog.getByRole('button', { name: 'Add filter' }).click();
  const found = await resultOf(page, { name, times: await named(measuring, name) });
  await restore(page, () => page.getByRole('button', { name: /^Remove the filter/ }).click());
  return found;
}

/** With the filter in the message of what fails. */
function named(measuring: Promise<Times>, name: string): Promise<Times> {
  return measuring.catch((cause: unknown) => {
    throw new Error(`the filter "${name}": ${String(cause)}`, { cause });
  });
}

async function search(page: Page): Promise<Filtered> {
  const box = page.getByRole('searchbox');
  const measuring = page.evaluate<Times>(`bench.filtered('input')`);
  await box.fill(SEARCH);
  const { at, ...others } = await measuring;
  const times = { ...others, at: at + PAUSE_MS };
  const found = await resultOf(page, { name: `search for ${SEARCH}`, times });
  await restore(page, () => box.fill(''));
  return found;
}

async function resultOf(
  page: Page,
  { name, times }: { name: string; times: Times },
): Promise<Filtered> {
  const count = await page.evaluate<string>('bench.count()');
  return {
    name,
    total: Number(count.replace(/\D/g, '')),
    before: times.asked - times.at,
    server: times.answered - times.asked,
    render: times.end - times.answered,
  };
}

async function restore(page: Page, undo: () => Promise<void>): Promise<void> {
  const before = await page.evaluate<string>('bench.count()');
  await undo();
  await page.evaluate(`bench.changed(${JSON.stringify(before)})`);
  await page.evaluate('bench.rows()');
}
