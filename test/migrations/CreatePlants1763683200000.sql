-- up
CREATE TABLE "plants" ("id" bigint NOT NULL, "name" text NOT NULL, "tag" text, CONSTRAINT "plants_pkey" PRIMARY KEY ("id"));
-- down
DROP TABLE "plants";
