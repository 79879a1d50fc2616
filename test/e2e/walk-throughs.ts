/**
 * A page of docs/ joins by one line in WALK_THROUGHS. Its `sh` blocks are then typed in order, in one
 * shell, against a fresh server that was started with LAB=on (`env` adds settings). Write them for a
 * reader in the project's directory whose server is at http://localhost:8080 and whose token is in
 * data/admin-token (data/lab-tour/admin-token for the lab). Every command must succeed, and none may leave a file outside data/: write to
 * "$(mktemp -d)". What a reader should see goes into `shows`.
 *
 * A line with `npm run simulate` and `--forever` runs in the background, as in a second terminal, once
 * its devices are enrolled.
 *
 * Commands that a test cannot run (another machine, Apple's portal) and sample output stand in blocks
 * without `sh`: ```console or no language. A page with `sh` blocks that is not in the list fails.
 */
import { temporaryDirectory } from '../helpers/temporary-directory.js';
import { type LabFixture, openLabFixture } from './lab-fixture.js';
import { runWalkThrough, shellBlocks, type WalkThroughResult } from './walk-through-runner.js';

interface WalkThrough {
  page: string;
  /** Settings of the server beside LAB=on, for example { ENROLLMENT: 'link' }. */
  env?: Record<string, string>;
  /** Text that the commands print. */
  shows?: string[];
  /** Commands that a reader does not type: they compare what the others have left. */
  checks?: string;
  /** Expectations of this page's own. */
  verify?: (result: WalkThroughResult, fixture: LabFixture) => Promise<void>;
}

const SAME_FILE = 'cmp "$FILES/original.mobileconfig" "$FILES/example.mobileconfig"\n';

export const WALK_THROUGHS: WalkThrough[] = [
  { page: 'docs/api.md', shows: ['"id":"'], checks: SAME_FILE, verify: verifyApi },
  {
    page: 'docs/assignments.md',
    shows: ['"gain": 3', '"lose": 3', '"retried": 0', 'Moving to the new Wi-Fi'],
  },
  { page: 'docs/automated-enrollment.md', verify: verifyAutomatedEnrollment },
  {
    page: 'docs/backup.md',
    env: { BACKUP_DIR: temporaryDirectory() },
    shows: ['not encrypted, in', '"state": "finished"', 'moving.backup is whole', 'restored '],
  },
  {
    page: 'docs/batches.md',
    shows: [
      '"matched": 3',
      '"eligible": 3',
      '"state": "finished"',
      '"Acknowledged": 2',
      '"Error": 1',
      '"code": "waiting_not_now"',
      '"Acknowledged": 1',
      'no_eligible_device',
      'confirmation_required',
      '"confirm": 3',
    ],
  },
  {
    page: 'docs/certificates.md',
    checks: 'grep -q "^-----BEGIN CERTIFICATE-----" "$FILES/ca.pem"\n',
  },
  {
    page: 'docs/changes.md',
    shows: ['"attribute": "device_name"', '"new": "Reading room 4"', '"caused_by": "Settings"'],
  },
  {
    page: 'docs/commands.md',
    shows: [
      '"status": "Acknowledged"',
      '"status": "Cancelled"',
      '"code": "waiting_until"',
      '"kind": "device_lock_pin"',
      '"encoding": "utf8"',
      '"kind": "recovery_lock_password"',
      '"PasswordVerified": true',
      '"kind": "filevault_recovery_key"',
    ],
    checks: 'grep -q FDERecoveryKeyEscrow "$FILES/filevault.mobileconfig"\n',
  },
  { page: 'docs/configuration.md', shows: ['Example School'] },
  { page: 'docs/console.md', shows: ['/sign-in#', 'id,device_name,serial_number,os_version'] },
  {
    page: 'docs/diagnosis.md',
    shows: [
      '"health": "ok"',
      '"findings": []',
      '"stuck": 0',
      'commands_failing',
      'The device has not contacted',
    ],
    env: { SILENT_AFTER: '10s', BUSY_AFTER: '2s' },
  },
  {
    page: 'docs/enrollment.md',
    env: { REPLACE_ENROLLED: 'hold' },
    shows: ['refused, as it should be', '"state": "held"', '"state": "approved"'],
  },
  {
    page: 'docs/groups.md',
    shows: [
      '"meta":{"count":1,"unknown":1,"examples":[',
      '"attributes":{"device_name":"Old one"}',
      'the group is empty',
      '"attributes":{"serial_number":"C02SILENT"}',
    ],
  },
  { page: 'docs/installation.md', shows: ['/readyz answers 200'] },
  { page: 'docs/monitoring.md', shows: ['role admin, expires never'] },
  {
    page: 'docs/operations.md',
    shows: ['"status":"ready"', 'answers with a CA of this database', 'helpdesk', 'applied'],
  },
  {
    page: 'docs/profiles.md',
    shows: [
      '"path":"/PayloadDisplayName","before":null,"after":"Office"',
      '"variables":["SECRET_wifi","SERIAL"]',
      '"name":"wifi","version":2',
    ],
    checks: SAME_FILE,
  },
  { page: 'docs/quickstart.md', shows: ['Devices:  5 of 5 enrolled', '"portal":"http'] },
  { page: 'docs/rollouts.md', shows: ['"state":"running"', '"rolled_back"'] },
];

/** Every request of the page was made, in all the ways that it shows, and all was deleted again. */
async function verifyApi({ calls }: WalkThroughResult, { app }: LabFixture): Promise<void> {
  const script = shellBlocks('docs/api.md');
  expect(calls.length).toBe((script.match(/\b(curl|new) /g)?.length ?? 0) - 1);
  expect(new Set(calls)).toEqual(
    new Set([
      'GET 200',
      'HEAD 200',
      'POST 200',
      'POST 201',
      'PATCH 200',
      'DELETE 200',
      'DELETE 204',
    ]),
  );
  expect(calls.filter((call) => call === 'DELETE 204')).toHaveLength(6);
  const devices = await app.db.knex('devices').count('* as n').first();
  expect(Number(devices?.n)).toBe(0);
}

/** The ten devices of the portal have the profile, and three of them enrolled. */
async function verifyAutomatedEnrollment({ stdout, calls }: WalkThroughResult): Promise<void> {
  const asked = calls.filter((call, index) => call !== 'GET 200' || calls[index - 1] !== call);
  expect(asked).toEqual([
    // The lab, the certificate, the portal, the token, the profile, its account, the devices.
    ...['GET 200', 'POST 200', 'POST 200', 'POST 201', 'POST 201', 'PATCH 200', 'GET 200'],
    // The settings of return to service.
    'PATCH 200',
  ]);
  expect(stdout).toContain('Devices:  3 of 3 enrolled');
  expect(stdout).toMatch(/ ReturnToService: Enabled true, WiFiProfileData \d{3} bytes/);
  const [funnelText = ''] =
    /\{"data":\{"type":"dep_funnels?".*?"jsonapi":\{[^}]*\}\}/s.exec(stdout) ?? [];
  const funnel = JSON.parse(funnelText);
  expect(funnel.data.attributes).toMatchObject({
    total: 10,
    assigned_or_beyond: 10,
    enrolled: 3,
    failing: 0,
    assignment_due: 0,
  });
}

/** Types those of `walkThroughs`, each against a server of its own. */
export function describeWalkThroughs(name: string, walkThroughs: readonly WalkThrough[]): void {
  describe(name, () => {
    it.each(walkThroughs)(
      '$page works as it is written and leaves no file',
      async (walkThrough) => {
        const { page, env = {}, shows = [], checks = '', verify } = walkThrough;
        const fixture = await openLabFixture(env);
        try {
          const { connectionString } = fixture.app.database;
          const server = { url: fixture.url, connectionString };
          const result = await runWalkThrough(shellBlocks(page) + checks, server);
          for (const text of shows) expect(result.stdout).toContain(text);
          expect(result.left).toEqual([]);
          await verify?.(result, fixture);
        } finally {
          await fixture.stop();
        }
      },
      180_000,
    );
  });
}
