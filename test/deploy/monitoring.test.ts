import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
import { ROOT } from '../helpers/process.js';
import { type Family, parseExposition } from '../metrics/exposition.js';
import { namesOf } from './prom-expressions.js';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string; datasource: { uid: string } }[];
}

const RULES = join(ROOT, 'deploy', 'prometheus', 'rules.yml');
const DASHBOARD = join(ROOT, 'deploy', 'grafana', 'muster.json');
const RULE_TESTS = join(__dirname, 'prometheus-rules.test.yml');

const rules = (
  parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const EXPRESSIONS = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, expr]),
  ),
];
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** Added by Prometheus. */
const OWN_LABELS = ['job', 'instance'];
/** Without a row here: a DEP account, a refused push certificate, a backup. */
const WITHOUT_SAMPLES = /^muster_(dep_|push_topic_blocked|backup_)/;
/** Noted a moment after the start. */
const LATE = ['muster_enrolled_devices', 'muster_processes_alive'];

let app: TestApp;
let text: string;
let families: Map<string, Family>;

beforeAll(async () => {
  app = await startApp();
  const device = await createTestDevice(app);
  await device.enroll();
  app.container.metrics.observeJob('dep.sync', 'ok', 0.1);
  // What was counted before the device had enrolled is counted again, and read within 10 seconds.
  for (let attempt = 0; attempt < 200; attempt += 1) {
    await app.db.knex('fleet_figures').update({ claimed_at: null });
    text = await (await fetch(`${app.url}/metrics`)).text();
    families = parseExposition(text);
    if (LATE.every((name) => familyOf(name)?.samples.length)) return;
    await sleep(100);
  }
  throw new Error(`these never had a sample: ${LATE.join(', ')}`);
}, 60_000);
afterAll(() => app.stop());

function familyOf(name: string): Family | undefined {
  return families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
}

function labelsOf(name: string): string[] {
  const samples = familyOf(name)?.samples ?? [];
  return [...OWN_LABELS, ...samples.flatMap(({ labels }) => Object.keys(labels))];
}

describe.each(EXPRESSIONS)('%s', (_title, expression) => {
  const { metrics, groupedBy } = namesOf(expression);

  it('names metrics that /metrics prints', () => {
    expect(metrics.length).toBeGreaterThan(0);
    const names = metrics.map(({ name }) => name).filter((name) => name !== 'up');
    expect(names.filter((name) => familyOf(name) === undefined)).toEqual([]);
  });

  it('names labels that these metrics have', () => {
    const checked = metrics.filter(({ name }) => familyOf(name) && !WITHOUT_SAMPLES.test(name));
    for (const { name, matchers } of checked) {
      const labels = matchers.map(([label]) => label);
      expect([name, labels.filter((label) => !labelsOf(name).includes(label))]).toEqual([name, []]);
    }
    if (checked.length < metrics.length) return;
    const known = checked.flatMap(({ name }) => labelsOf(name));
    expect(groupedBy.filter((label) => !known.includes(label))).toEqual([]);
  });

  it('asks for values that these labels have', () => {
    for (const { name, matchers } of metrics) {
      const samples = familyOf(name)?.samples ?? [];
      const exact = matchers.filter(([label, operator]) => operator === '=' && label !== 'job');
      for (const [label, , value] of exact) {
        expect(samples.map(({ labels }) => labels[label])).toContain(value);
      }
    }
  });
});

describe('the rules of Prometheus', () => {
  it('have a name, a severity, a summary and the next step each', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Muster[A-Z]\w+$/);
      expect(['warning', 'critical']).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description).toMatch(/\w\.$/);
    }
  });

  it('are all explained in the documentation, and no others', () => {
    const page = readFileSync(join(ROOT, 'docs', 'monitoring.md'), 'utf8');
    const explained = [...page.matchAll(/^\| `(Muster\w+)`/gm)].map(([, name]) => name);
    expect(explained).toEqual(rules.map(({ alert }) => alert));
  });

  (hasPromtool ? it : it.skip)('are accepted by promtool, and fire when they are meant to', () => {
    for (const args of [
      ['check', 'rules', RULES],
      ['test', 'rules', RULE_TESTS],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
      expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    }
  });

  (hasPromtool ? it : it.skip)('read metrics that promtool accepts', () => {
    const options = { encoding: 'utf8', input: text } as const;
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], options);
    expect([0, 3]).toContain(status); // 3: advice, of which some is about Node.js's own metrics
    expect(stderr.match(/^muster_.*$/gm)).toEqual([
      'muster_credential_days_left use base unit "seconds" instead of "days"',
    ]);
  });
});

describe('the dashboard of Grafana', () => {
  it('has panels with ids of their own that do not overlap', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_none, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  it('reads the data source that is chosen, and one installation at a time if asked to', () => {
    const targets = panels.flatMap((panel) => panel.targets ?? []);
    expect(targets.length).toBeGreaterThan(30);
    for (const { expr, datasource } of targets) {
      expect(datasource.uid).toBe(`\${datasource}`);
      const selectors = namesOf(expr).metrics.map(({ matchers }) => matchers[0]?.join(''));
      expect(selectors.every((first) => first === 'job=~$job')).toBe(true);
    }
  });

  it('shows every metric of the fleet and of what runs', () => {
    const shown = panels.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => namesOf(expr).metrics.map(({ name }) => name)),
    );
    const all = [...families.keys()].filter((name) => name.startsWith('muster_'));
    const missing = all.filter(
      (name) => !shown.some((one) => familyOf(one) === families.get(name)),
    );
    expect(new Set(missing)).toEqual(
      new Set([
        'muster_credential_expiry_timestamp_seconds',
        'muster_dep_account_ok',
        'muster_dep_assignments_due',
        'muster_fleet_counted_timestamp_seconds',
        'muster_push_topic_blocked',
      ]),
    );
  });
});
