import type { Check } from './check.js';
import { backupsCheck } from './checks/backups.js';
import { databaseClockCheck, publicClockCheck } from './checks/clock.js';
import { credentialsCheck } from './checks/credentials.js';
import { bloatCheck, databaseCheck, databaseSettingsCheck } from './checks/database.js';
import { diskCheck } from './checks/disk.js';
import { filesCheck } from './checks/files.js';
import { jobsCheck, processesCheck } from './checks/jobs.js';
import { masterKeyCheck } from './checks/master-key.js';
import { publicAddressCheck, sameServerCheck } from './checks/public-address.js';
import { publicTlsCheck } from './checks/public-tls.js';
import { pushServiceCheck } from './checks/push-service.js';
import { schemaCheck } from './checks/schema.js';
import { settingsCheck } from './checks/settings.js';

/** All of them, in the order of the report. Another check is one function here. */
export const CHECKS: readonly Check[] = [
  publicAddressCheck,
  publicTlsCheck,
  sameServerCheck,
  publicClockCheck,
  databaseCheck,
  schemaCheck,
  databaseSettingsCheck,
  databaseClockCheck,
  bloatCheck,
  diskCheck,
  filesCheck,
  masterKeyCheck,
  settingsCheck,
  processesCheck,
  credentialsCheck,
  pushServiceCheck,
  jobsCheck,
  backupsCheck,
];
