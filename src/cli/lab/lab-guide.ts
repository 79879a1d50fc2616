import type { Config } from '../../config/config.js';
import { adminTokenFile } from '../api/api-client.js';
import { tableLines } from '../table.js';

/** A simulated device as the API knows it. */
export interface LabDevice {
  id: number;
  platform: string;
  serialNumber: string;
  name: string;
}

export interface LabGuide {
  config: Pick<Config, 'publicUrl' | 'adminToken' | 'dataDir' | 'tls'>;
  devices: readonly LabDevice[];
  /** Base URL of the control of the stand-in for APNs. */
  controlUrl: string;
  /** Base URL of the stand-in for Apple's portal. */
  portalUrl?: string | undefined;
}

const MAX_SHOWN = 10;

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function deviceLines(devices: readonly LabDevice[]): string[] {
  const rows = devices
    .slice(0, MAX_SHOWN)
    .map(({ id, platform, serialNumber, name }) => [String(id), platform, serialNumber, name]);
  const more = devices.length - rows.length;
  const heading = ['ID', 'PLATFORM', 'SERIAL NUMBER', 'NAME'];
  return [
    ...tableLines([heading, ...rows]).map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function tokenLines({ adminToken, dataDir }: LabGuide['config']): string[] {
  const file = adminTokenFile({ dataDir });
  return adminToken === undefined
    ? [
        `Try this in another terminal; the token is in ${file}.`,
        '',
        `AUTH="Authorization: Bearer $(cat ${quoted(file)})"`,
      ]
    : [
        'Try this in another terminal, where ADMIN_TOKEN is set as here.',
        '',
        'AUTH="Authorization: Bearer $ADMIN_TOKEN"',
      ];
}

/** A call of which the id in the answer is kept in a variable of the shell. */
interface KeptCall {
  variable: string;
  call: string;
}

interface Example {
  comment: string;
  /** What follows `curl -sg`. */
  calls: (string | KeptCall)[];
  /** Seconds between two calls, for a device to answer. */
  pause?: number;
}

/** How to add an account of Automated Device Enrollment; docs/automated-enrollment.md continues. */
function depExamples({ config, portalUrl }: LabGuide): Example[] {
  if (portalUrl === undefined) return [];
  const dep = `${config.publicUrl}/dep`;
  return [
    {
      comment:
        'Automated Device Enrollment: a server token for this server (docs/automated-enrollment.md continues)',
      calls: [
        `-H "$AUTH" -X POST ${dep}/certificate/download -o "$FILES/muster-dep.pem"`,
        `--data-binary "@$FILES/muster-dep.pem" ${portalUrl}/token -o "$FILES/smime.p7m"`,
        `-H "$AUTH" -F "file=@$FILES/smime.p7m" ${dep}/stoken/upload`,
      ],
    },
  ];
}

const ASSIGNMENT = {
  data: {
    type: 'assignments',
    attributes: { all_devices: true },
    relationships: { item: { data: { type: 'profiles', id: 0 } } },
  },
};

const assignmentExamples: Example[] = [
  {
    comment:
      'assign a profile to every device, and see that each has proved it (docs/assignments.md continues)',
    calls: [
      '-H "$AUTH" "$API/configuration/file_vault/profile" -o "$FILES/filevault.mobileconfig"',
      {
        variable: 'PROFILE',
        call: '-H "$AUTH" -F "file=@$FILES/filevault.mobileconfig" "$API/upload/profiles"',
      },
      `-H "$AUTH" -H "Content-Type: application/json" "$API/assignments" -d ${JSON.stringify(
        JSON.stringify(ASSIGNMENT).replace('"id":0', '"id":$PROFILE'),
      ).replaceAll('\\$', '$')}`,
      '-H "$AUTH" "$API/profiles/$PROFILE/status"',
      '-H "$AUTH" "$API/profiles/$PROFILE/devices?include=device&fields[devices]=device_name"',
    ],
    pause: 2,
  },
];

function examples(guide: LabGuide): Example[] {
  const { config, devices, controlUrl } = guide;
  const any = devices[0]?.id ?? 1;
  const phone = devices.find(({ platform }) => platform === 'iOS')?.id;
  const newest = 'sort=-id&page[size]=1&fields[commands]=request_type,status,result';
  return [
    { comment: 'list the devices', calls: ['-H "$AUTH" "$API/devices?sort=-id"'] },
    {
      comment: 'ask one for its name and version, and see a moment later that it has answered',
      calls: [
        `-H "$AUTH" -X POST "$API/devices/test/${any}"`,
        `-H "$AUTH" "$API/devices/${any}/commands?${newest}"`,
      ],
      pause: 2,
    },
    ...(phone === undefined
      ? []
      : [
          {
            comment: 'clear the passcode of an iPhone',
            calls: [`-H "$AUTH" -X POST "$API/devices/${phone}/clear_passcode"`],
          },
        ]),
    ...assignmentExamples,
    {
      comment: 'push one by hand, and see what the push service says',
      calls: [`-H "$AUTH" -X POST "$API/devices/${any}/push"`],
    },
    {
      comment: 'look behind it: the lab, its pushes, jobs, metrics',
      calls: [
        `${config.publicUrl}/lab`,
        `${controlUrl}/lab/pushes`,
        '-H "$AUTH" "$API/jobs"',
        `-H "$AUTH" ${config.publicUrl}/metrics`,
      ],
    },
    {
      comment: 'let the push service be busy once: the next command takes some seconds longer',
      calls: [`${controlUrl}/lab/answers -d '{"all":true,"status":503,"times":1}'`],
    },
    ...depExamples(guide),
  ];
}

function lineOf(curl: string, call: string | KeptCall): string {
  if (typeof call === 'string') return `${curl} ${call}`;
  const id = `grep -o '"id":[0-9]*' | head -1 | cut -d: -f2`;
  return `${call.variable}=$(${curl} ${call.call} | ${id})`;
}

/** What `muster lab` prints once its devices are enrolled. */
export function describeLab(guide: LabGuide): string {
  const { config, devices } = guide;
  const curl = config.tls ? `curl -sg --cacert ${quoted(config.tls.certFile)}` : 'curl -sg';
  const blocks = examples(guide).map(({ comment, calls, pause }) => {
    const between = pause === undefined ? '\n' : `\nsleep ${pause}\n`;
    const lines = calls.map((call) => lineOf(curl, call));
    return `# ${comment}\n${lines.join(between)}`;
  });
  return [
    `Muster serves at ${config.publicUrl}, and its devices answer as soon as they are pushed:`,
    '',
    ...deviceLines(devices),
    '',
    ...tokenLines(config),
    `API=${config.publicUrl}/api/v1`,
    'FILES=$(mktemp -d)',
    '',
    ...blocks,
    '',
    'Ctrl-C ends everything. What the devices answer from here on:',
    '',
  ].join('\n');
}
