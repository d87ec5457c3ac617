import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Like `uuidv7()`, which PostgreSQL has from version 18 on: milliseconds of Unix time in 48 bits, the version, and random bits
 * (RFC 9562, section 5.7). `gen_random_uuid()` has the bits of the variant, and version 4, of which two bits are set to make 7.
 */
export class CreateUuidV71795651201000 implements MigrationInterface {
  readonly name = 'CreateUuidV71795651201000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE FUNCTION "uuid_v7"() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
        SELECT encode(
          set_bit(
            set_bit(
              overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
              ),
              52, 1
            ),
            53, 1
          ),
          'hex'
        )::uuid
      $$`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP FUNCTION "uuid_v7"()`);
  }
}
