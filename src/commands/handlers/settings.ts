import { updateDeviceFacts } from '../../db/devices/inventory-repository.js';
import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import type { RefusedItem } from '../reports/refused-items.js';
import { type ColumnMap, type Columns, dictsAt, readColumns } from '../reports/report-columns.js';
import type { Report, ReportHandler } from '../reports/report-handler.js';
import { SHARED_DEVICE_COLUMNS } from './device-information.js';

/**
 * What an accepted item sets. Left out is what the device may change (quotas) or adds to what it has
 * (MDMOptions, AccessibilitySettings): DeviceInformation reports that.
 */
const ITEM_COLUMNS: Readonly<Record<string, ColumnMap>> = {
  DeviceName: { DeviceName: ['device_name', 'text'] },
  HostName: { HostName: ['hostname', 'text'] },
  TimeZone: { TimeZone: ['time_zone', 'text'] },
  VoiceRoaming: { Enabled: ['voice_roaming_enabled', 'boolean'] },
  DataRoaming: { Enabled: ['data_roaming_enabled', 'boolean'] },
  PersonalHotspot: { Enabled: ['personal_hotspot_enabled', 'boolean'] },
  DiagnosticSubmission: { Enabled: ['diagnostic_submission_enabled', 'boolean'] },
  AppAnalytics: { Enabled: ['app_analytics_enabled', 'boolean'] },
  OrganizationInfo: { OrganizationInfo: ['organization_info', 'json'] },
  SharedDeviceConfiguration: SHARED_DEVICE_COLUMNS,
};

const ACCEPTED = 'Acknowledged';

/** An item of the command and what the device answered to it. */
interface AnsweredItem {
  item: PlistDict;
  answer: PlistDict;
}

/** The device acknowledges the command as a whole, and answers to each of its items. */
export const settings: ReportHandler = {
  requestType: 'Settings',
  readsParameters: true,
  async handle(reports, { trx, refuse }) {
    const answered = reports.map((report) => ({ report, items: answeredItems(report) }));
    for (const { report, items } of answered) refuse(report, refusedItems(items));
    // Settings of a user are none of the device.
    const ofDevices = answered.filter(({ report }) => report.userId === null);
    await updateDeviceFacts(
      trx,
      ofDevices.map(({ report, items }) => ({ deviceId: report.deviceId, facts: factsOf(items) })),
    );
  },
};

function answeredItems({ body, parameters }: Report): AnsweredItem[] {
  const items = dictsAt(parameters(), 'Settings') ?? [];
  // Devices answer with a list; Apple's schema has one dictionary.
  const answers = isPlistDict(body.Settings) ? [body.Settings] : (dictsAt(body, 'Settings') ?? []);
  return items.flatMap((item, index) => {
    const answer = answerTo(item, { items, index, answers });
    return answer === undefined ? [] : [{ item, answer }];
  });
}

/** By the name of the item, or by its place where the answers have no names. */
function answerTo(
  { Item: name }: PlistDict,
  { items, index, answers }: { items: PlistDict[]; index: number; answers: PlistDict[] },
): PlistDict | undefined {
  const number = items.slice(0, index).filter(({ Item }) => Item === name).length;
  const named = answers.filter(({ Item }) => Item === name)[number];
  if (named !== undefined || answers.length !== items.length) return named;
  const placed = answers[index];
  return placed?.Item === undefined ? placed : undefined;
}

function factsOf(items: readonly AnsweredItem[]): Columns {
  const accepted = items.filter(({ answer }) => answer.Status === ACCEPTED);
  return Object.assign({}, ...accepted.map(({ item }) => columnsOf(item)));
}

function columnsOf(item: PlistDict): Columns {
  const { Item: name } = item;
  // Without its dictionary the item removes what was set.
  if (name === 'OrganizationInfo' && item.OrganizationInfo === undefined) {
    return { organization_info: null };
  }
  if (typeof name !== 'string' || !Object.hasOwn(ITEM_COLUMNS, name)) return {};
  return readColumns(item, ITEM_COLUMNS[name] ?? {});
}

function refusedItems(items: readonly AnsweredItem[]): RefusedItem[] {
  return items
    .filter(({ answer: { Status } }) => typeof Status === 'string' && Status !== ACCEPTED)
    .map(({ item, answer }) => ({ item: nameOf(item), answer }));
}

/** An application's settings are of the application. */
function nameOf({ Item: name, Identifier: identifier }: PlistDict): string {
  return typeof identifier === 'string' ? `${String(name)} ${identifier}` : String(name);
}
