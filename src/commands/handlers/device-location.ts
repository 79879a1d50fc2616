import { mergeInventory } from '../../db/devices/inventory-merge.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { type ColumnMap, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const LOCATION: ColumnMap = {
  Latitude: ['latitude', 'number'],
  Longitude: ['longitude', 'number'],
  HorizontalAccuracy: ['horizontal_accuracy', 'number'],
  VerticalAccuracy: ['vertical_accuracy', 'number'],
  Altitude: ['altitude', 'number'],
  Speed: ['speed', 'number'],
  Course: ['course', 'number'],
};

/** Where a device in lost mode is; the last location replaces the one before. */
export const deviceLocation: ReportHandler = {
  requestType: 'DeviceLocation',
  async handle(reports, { trx }) {
    const locations = reports.flatMap(({ deviceId, body }) => {
      const row = readColumns(body, LOCATION);
      if (row.latitude === undefined || row.longitude === undefined) return [];
      return [{ deviceId, rows: [{ ...row, located_at: locatedAt(body) }] }];
    });
    await mergeInventory(trx, 'device_locations', locations);
  },
};

/** ISO 8601 in a string; undefined for any other. */
function locatedAt({ Timestamp: text }: PlistDict): Date | undefined {
  const date = new Date(typeof text === 'string' ? text : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
