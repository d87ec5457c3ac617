import type { Type } from '@nestjs/common';
import { EntityColumns } from '@resource-service/framework/extension';
import type { MakeRecorder } from '@resource-service/framework/extension';
import type { Feed } from '../feed/feed.js';
import type { Change } from './change-of.js';
import { Recorder } from './recorder.js';

/** Other properties of a change, and parameters of a page of changes, where the name of the content is the id of a row. */
const NOT_CONTENT = new Set(
  'position time kind id principal requestId limit after acceptGap'.split(' '),
);

/**
 * Records the changes of a resource: its creates, updates and removals. The repository gets a feed of them, `changes`.
 *
 * @param record an entity that extends {@link ChangeOf} of the entity of the resource
 * @param property the name of the content in a change, such as `tool`
 * @throws TypeError when the repository is made, if a change has something of this name already
 * @example
 * class ToolsRepository extends ResourceRepository(Tool, {
 *   // …
 *   changes: recordChanges(ToolChange, 'tool'),
 * }) {}
 */
export function recordChanges(record: Type<Change>, property: string): MakeRecorder<Feed> {
  return (resource) => {
    const { entity, dataSource } = resource;
    if (NOT_CONTENT.has(property)) {
      throw new TypeError(
        `a change of ${entity.name} has "${property}" already: name its content otherwise`,
      );
    }
    let records: EntityColumns | undefined;
    return new Recorder(
      resource,
      () => (records ??= new EntityColumns(dataSource, record, 'position')),
      property,
    );
  };
}
